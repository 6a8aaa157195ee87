#include "compose/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compose/peak_memory.h"
#include "graph/cats.h"
#include "graph/fused.h"
#include "graph/image_layout.h"

namespace fact::compose {

namespace {

using graph::Cat;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

// What a GPU moves in the time of a launch.
double bytes_of_a_launch(const GpuSpec& gpu) {
    return gpu.launch_us * gpu.calibrated_memory_tbs * 1e6;
}

std::vector<std::optional<Cat>> read_cats(const Graph& graph) {
    std::vector<std::optional<Cat>> cats;
    for (const Node& node : graph.nodes) cats.push_back(graph::read_cat(graph, node));
    return cats;
}

class Placer {
  public:
    Placer(Graph& graph, const Refusal& refusal, const GpuSpec& gpu)
        : graph_(graph),
          refusal_(refusal),
          bytes_of_a_launch_(bytes_of_a_launch(gpu)),
          cats_(read_cats(graph)),
          users_(graph::users(graph)),
          escapes_(graph::escapes(graph)),
          memory_(graph),
          most_(memory_.bytes({})) {}

    std::vector<WrittenCat> run() {
        // Backwards: where a cat lies is known before its parts, which may be cats, are looked at.
        for (std::size_t i = graph_.nodes.size(); i-- > 0;)
            if (cats_[i]) found_.push_back(found(static_cast<NodeId>(i), *cats_[i]));
        drop_those_without_kernels();
        std::vector<WrittenCat> all;
        for (auto& [id, cat, placed, why] : found_) {
            WrittenCat& told =
                all.emplace_back(graph_[id].name, static_cast<int>(cat.parts.size()));
            for (std::size_t p = 0; p < cat.parts.size(); ++p)
                if (cat.in_place[p]) ++(is_of_call(cat.parts[p]) ? told.by_kernels : told.cats);
            told.why = std::move(why);
            if (placed) graph::write_cat(graph_[id], cat);
        }
        std::ranges::reverse(all);
        return all;
    }

  private:
    // What was decided for a cat or stack.
    struct Found {
        NodeId node;
        Cat cat;
        bool placed = false;  // it has parts in place, or lies in another
        std::string why;      // the first part that is copied
    };

    bool is_of_call(ValueId part) const {
        return graph_[*graph_[part].producer].target == graph::kFusedTarget;
    }

    Found found(NodeId at, const Cat& flat) {
        const ValueId own = graph_[at].outputs[0];
        Found found{at, flat, false, {}};
        const auto inner = earlier_cat(at, flat);
        if (inner) {
            found.cat = with_inner(flat, *inner);
            memory_.set_reads(at, found.cat.parts);
        }
        found.why = place(at, found.cat);
        // Unless the inner cat lies in this one, joining its parts one by one is as good.
        if (inner && !found.cat.in_place[0]) {
            take_out_all(found.cat);
            found.cat = flat;
            memory_.set_reads(at, flat.parts);
            found.why = place(at, found.cat);
        }
        // A cat that lies in another's memory says so by being such a node.
        found.placed = std::ranges::count(found.cat.in_place, true) > 0 || layouts_.contains(own);
        return found;
    }

    // Cats in a cat of which no kernel writes a part stay torch's.
    void drop_those_without_kernels() {
        std::map<ValueId, ValueId> roots;  // of each cat: the one whose memory it lies in
        std::set<ValueId> written;         // those with a part that a kernel writes
        for (const Found& found : found_) {
            const ValueId own = graph_[found.node].outputs[0];
            const ValueId root = roots.try_emplace(own, own).first->second;
            for (std::size_t p = 0; p < found.cat.parts.size(); ++p) {
                const ValueId part = found.cat.parts[p];
                if (!found.cat.in_place[p]) continue;
                if (is_of_call(part))
                    written.insert(root);
                else
                    roots[part] = root;
            }
        }
        for (Found& found : found_) {
            if (!found.placed || written.contains(roots.at(graph_[found.node].outputs[0])))
                continue;
            if (found.why.empty()) found.why = "no kernel computes a part of it";
            found.placed = false;
            take_out_all(found.cat);
        }
    }

    // The earlier cat with the most parts, two or more, with which this one begins.
    std::optional<NodeId> earlier_cat(NodeId at, const Cat& cat) const {
        std::optional<NodeId> best;
        if (cat.adds_dim || cat.parts.empty()) return best;
        std::size_t most = 1;
        for (const NodeId user : users_[index(cat.parts[0])]) {
            const auto& other = cats_[index(user)];
            if (user >= at || !other || other->adds_dim || other->dim != cat.dim ||
                other->parts.size() <= most || other->parts.size() >= cat.parts.size() ||
                !std::equal(other->parts.begin(), other->parts.end(), cat.parts.begin()))
                continue;
            most = other->parts.size();
            best = user;
        }
        return best;
    }

    Cat with_inner(const Cat& flat, NodeId inner) const {
        const auto inside = static_cast<std::ptrdiff_t>(cats_[index(inner)]->parts.size());
        Cat cat = flat;
        cat.parts.erase(cat.parts.begin(), cat.parts.begin() + inside);
        cat.parts.insert(cat.parts.begin(), graph_[inner].outputs[0]);
        cat.in_place.assign(cat.parts.size(), false);
        return cat;
    }

    // Lets parts lie where they belong in the cat; says why the first that is copied is.
    std::string place(NodeId at, Cat& cat) {
        const ValueId own = graph_[at].outputs[0];
        const auto known = layouts_.find(own);
        TensorType whole = known == layouts_.end() ? *graph_[own].type : known->second;
        if (known == layouts_.end()) {
            whole.offset = 0;
            if (!graph::fills_memory(whole)) return "its result does not fill its memory";
        }
        std::string why;
        const auto parts = graph::part_layouts(graph_, cat, whole);
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const auto reason = try_place(at, cat, cat.parts[p], parts[p]);
            cat.in_place[p] = reason.empty();
            if (why.empty() && !reason.empty())
                why = fmt::format("{} {}", graph_[cat.parts[p]].name, reason);
        }
        while (memory_.bytes(homes_) > most_) {
            const auto part = longest_kept(cat, own);
            if (!part) break;
            take_out(cat, *part);
            if (why.empty())
                why =
                    graph_[cat.parts[*part]].name +
                    " is computed so early or read so late that the module would need more memory";
        }
        if (pays(cat)) return why;
        take_out_all(cat);
        return "copying the rest would take more launches than torch's one copy of all";
    }

    // Lets the part lie there; if it cannot, says why, and changes nothing.
    std::string try_place(NodeId at, const Cat& cat, ValueId part, const TensorType& layout) {
        if (auto why = graph::why_not_in_place(graph_, part); !why.empty()) return why;
        if (escapes_[index(part)]) return "is also a result of the module";
        if (std::ranges::count(cat.parts, part) > 1) return "is a part more than once";
        if (layouts_.contains(part)) return "lies in another cat";
        layouts_[part] = layout;
        homes_[part] = graph_[at].outputs[0];
        auto why = refused_there(at, part);
        if (!why.empty()) take_away(part);
        return why;
    }

    // Why what computes the part, or reads it besides the cat, cannot where it lies.
    std::string refused_there(NodeId at, ValueId part) const {
        if (is_of_call(part))
            if (auto why = refusal_(graph_, graph_[*graph_[part].producer], layouts_); !why.empty())
                return "cannot be written there: " + why;
        for (const NodeId user : users_[index(part)]) {
            const Node& reader = graph_[user];
            if (user == at || cats_[index(user)]) continue;
            // Torch's operators may give results of another layout then, which kernels refuse.
            if (reader.target != graph::kFusedTarget)
                return fmt::format("is also read by {}", reader.target);
            if (auto why = refusal_(graph_, reader, layouts_); !why.empty())
                return fmt::format("cannot be read there by {}: {}", reader.name, why);
        }
        return {};
    }

    // The part that makes the cat's memory live longest: the first one in place that is computed,
    // or the last that is read, if that is after the cat itself. nullopt if none is in place.
    std::optional<std::size_t> longest_kept(const Cat& cat, ValueId own) {
        std::optional<std::size_t> first, last;
        for (std::size_t p = 0; p < cat.parts.size(); ++p) {
            if (!cat.in_place[p]) continue;
            const auto& life = memory_.life(cat.parts[p]);
            if (!first || life.first < memory_.life(cat.parts[*first]).first) first = p;
            if (!last || life.last > memory_.life(cat.parts[*last]).last) last = p;
        }
        if (!first || memory_.life(cat.parts[*last]).last <= memory_.life(own).last) return first;
        const auto bytes_without = [&](std::size_t p) {
            auto homes = homes_;
            homes.erase(cat.parts[p]);
            return memory_.bytes(homes);
        };
        return bytes_without(*last) < bytes_without(*first) ? last : first;
    }

    // Whether what is not copied outweighs the launches that it takes to copy the rest. Torch
    // copies all parts in one.
    bool pays(const Cat& cat) const {
        double saved = 0;
        int runs = 0;
        for (std::size_t p = 0; p < cat.parts.size(); ++p)
            if (cat.in_place[p])
                saved += 2 * graph::bytes_of(*graph_[cat.parts[p]].type);
            else
                runs += p == 0 || cat.in_place[p - 1];
        return saved >= (runs - 1) * bytes_of_a_launch_;
    }

    void take_away(ValueId part) {
        layouts_.erase(part);
        homes_.erase(part);
    }
    void take_out(Cat& cat, std::size_t number) {
        take_away(cat.parts[number]);
        cat.in_place[number] = false;
    }
    void take_out_all(Cat& cat) {
        for (std::size_t p = 0; p < cat.parts.size(); ++p)
            if (cat.in_place[p]) take_out(cat, p);
    }

    Graph& graph_;
    const Refusal& refusal_;
    const double bytes_of_a_launch_;
    const std::vector<std::optional<Cat>> cats_;  // by node
    const std::vector<std::vector<NodeId>> users_;
    const std::vector<bool> escapes_;
    PeakMemory memory_;
    const double most_;  // that the module takes at a time if nothing is in place
    // Of what is in place so far.
    Layouts layouts_;
    Homes homes_;
    std::vector<Found> found_;  // from the last to the first
};

}  // namespace

std::vector<WrittenCat> write_in_place(Graph& graph, const Refusal& refusal, const GpuSpec& gpu) {
    return Placer(graph, refusal, gpu).run();
}

}  // namespace fact::compose
