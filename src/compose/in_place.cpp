#include "compose/in_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compose/peak_memory.h"
#include "graph/cats.h"
#include "graph/fused.h"

namespace fact::compose {

namespace {

using graph::Cat;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::TensorType;
using graph::ValueId;

// Torch copies all parts in one launch. Each further one costs about as much time as a GPU needs to
// move this many bytes.
constexpr double kBytesOfALaunch = 8e6;

class Placer {
  public:
    Placer(Graph& graph, const Refusal& refusal)
        : graph_(graph),
          refusal_(refusal),
          escapes_(graph::escapes(graph)),
          memory_(graph),
          most_(memory_.bytes({})) {}

    std::vector<WrittenCat> run() {
        // Backwards: where a cat lies is known before its parts, which may be cats, are looked at.
        for (std::size_t i = graph_.nodes.size(); i-- > 0;) {
            const auto flat = graph::read_cat(graph_, graph_.nodes[i]);
            if (!flat) continue;
            const Layouts before = layouts_;
            const Homes homes_before = homes_;
            std::string why;
            Cat cat = *flat;
            if (const auto inner = earlier_cat(i, *flat)) {
                cat = with_inner(*flat, *inner);
                place(i, cat, why);
                // Unless the inner cat lies in this one, joining its parts one by one is as good.
                if (!cat.in_place[0]) {
                    layouts_ = before, homes_ = homes_before, cat = *flat;
                    place(i, cat, why);
                }
            } else {
                place(i, cat, why);
            }
            // A cat that lies in another's memory says so by being such a node.
            const bool placed = std::ranges::count(cat.in_place, true) > 0 ||
                                layouts_.contains(graph_.nodes[i].outputs[0]);
            found_.push_back({static_cast<NodeId>(i), std::move(cat), placed, std::move(why)});
        }
        drop_those_without_kernels();
        std::vector<WrittenCat> all;
        for (auto& [id, cat, placed, why] : found_) {
            const auto in_place = std::ranges::count(cat.in_place, true);
            all.push_back({graph_[id].name, static_cast<int>(cat.parts.size()),
                           static_cast<int>(in_place), std::move(why)});
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
                if (graph_[*graph_[part].producer].target == graph::kFusedTarget)
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
            found.cat.in_place.assign(found.cat.parts.size(), false);
        }
    }

    // The earlier cat with the most parts, two or more, with which this one begins.
    std::optional<NodeId> earlier_cat(std::size_t at, const Cat& cat) const {
        std::optional<NodeId> best;
        std::size_t most = 1;
        for (std::size_t i = 0; i < at && !cat.adds_dim; ++i) {
            const auto other = graph::read_cat(graph_, graph_.nodes[i]);
            if (!other || other->adds_dim || other->dim != cat.dim || other->parts.size() <= most ||
                other->parts.size() >= cat.parts.size() ||
                !std::equal(other->parts.begin(), other->parts.end(), cat.parts.begin()))
                continue;
            most = other->parts.size();
            best = static_cast<NodeId>(i);
        }
        return best;
    }

    Cat with_inner(const Cat& flat, NodeId inner) const {
        const auto inside = graph::read_cat(graph_, graph_[inner])->parts.size();
        Cat cat = flat;
        cat.parts.erase(cat.parts.begin(), cat.parts.begin() + static_cast<std::ptrdiff_t>(inside));
        cat.parts.insert(cat.parts.begin(), graph_[inner].outputs[0]);
        cat.in_place.assign(cat.parts.size(), false);
        return cat;
    }

    // Sets which parts are in place, and their layouts.
    void place(std::size_t at, Cat& cat, std::string& why) {
        const ValueId own = graph_.nodes[at].outputs[0];
        const auto known = layouts_.find(own);
        TensorType whole = known == layouts_.end() ? *graph_[own].type : known->second;
        why.clear();
        if (known == layouts_.end()) {
            whole.offset = 0;
            if (!graph::fills_memory(whole)) {
                why = "its result does not fill its memory";
                return;
            }
        }
        const Layouts before = layouts_;
        const auto parts = graph::part_layouts(graph_, cat, whole);
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const auto reason = refused(static_cast<NodeId>(at), cat, p, parts[p]);
            cat.in_place[p] = reason.empty();
            if (reason.empty()) continue;
            layouts_.erase(cat.parts[p]);
            if (before.contains(cat.parts[p])) layouts_[cat.parts[p]] = before.at(cat.parts[p]);
            if (why.empty()) why = fmt::format("{} {}", graph_[cat.parts[p]].name, reason);
        }
        for (std::size_t p = 0; p < parts.size(); ++p)
            if (cat.in_place[p]) homes_[cat.parts[p]] = own;
        while (memory_.bytes(homes_) > most_)
            if (!take_out(cat, why)) break;
        if (pays(cat)) return;
        for (std::size_t p = 0; p < parts.size(); ++p)
            if (cat.in_place[p]) homes_.erase(cat.parts[p]);
        layouts_ = before;
        cat.in_place.assign(cat.parts.size(), false);
        why = "copying the rest would take more launches than torch's one copy of all";
    }

    // Takes a part out of the cat that keeps its memory for long: the first to be written, or the
    // last to be read, if that is after the cat itself; false if there is none.
    bool take_out(Cat& cat, std::string& why) {
        std::optional<std::size_t> first, last;
        for (std::size_t p = 0; p < cat.parts.size(); ++p) {
            if (!cat.in_place[p]) continue;
            const auto& life = memory_.life(cat.parts[p]);
            if (!first || life.first < memory_.life(cat.parts[*first]).first) first = p;
            if (!last || life.last > memory_.life(cat.parts[*last]).last) last = p;
        }
        if (!first) return false;
        const ValueId own = homes_.at(cat.parts[*first]);
        const auto without = [&](std::size_t p) {
            homes_.erase(cat.parts[p]);
            const double bytes = memory_.bytes(homes_);
            homes_[cat.parts[p]] = own;
            return bytes;
        };
        const bool is_read_later = memory_.life(cat.parts[*last]).last > memory_.life(own).last;
        const std::size_t out = is_read_later && without(*last) < without(*first) ? *last : *first;
        cat.in_place[out] = false;
        homes_.erase(cat.parts[out]);
        layouts_.erase(cat.parts[out]);
        if (why.empty())
            why = graph_[cat.parts[out]].name +
                  " is computed so early or read so late that the module would need more memory";
        return true;
    }

    // Whether what is not copied outweighs the launches that it takes to copy the rest.
    bool pays(const Cat& cat) const {
        double saved = 0;
        int runs = 0;
        for (std::size_t p = 0; p < cat.parts.size(); ++p)
            if (cat.in_place[p])
                saved += 2 * bytes_of(*graph_[cat.parts[p]].type);
            else
                runs += p == 0 || cat.in_place[p - 1];
        return saved >= (runs - 1) * kBytesOfALaunch;
    }

    // Why the part cannot lie there; "" if it can, and then it does.
    std::string refused(NodeId at, const Cat& cat, std::size_t number, const TensorType& layout) {
        const ValueId part = cat.parts[number];
        const auto& producer = graph_[part].producer;
        if (!producer) return "is an input of the module";
        const bool call = graph_[*producer].target == graph::kFusedTarget;
        if (!call && !graph::read_cat(graph_, graph_[*producer])) return "is computed by torch";
        if (escapes_[index(part)]) return "is also a result of the module";
        if (std::ranges::count(cat.parts, part) > 1) return "is a part more than once";
        if (layouts_.contains(part)) return "lies in another cat";
        layouts_[part] = layout;
        if (call)
            if (auto why = refusal_(graph_, graph_[*producer], layouts_); !why.empty())
                return "cannot be written there: " + why;
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
            const Node& reader = graph_.nodes[i];
            const auto reads = graph::tensor_inputs(reader);
            if (static_cast<NodeId>(i) == at || std::ranges::find(reads, part) == reads.end() ||
                graph::read_cat(graph_, reader))
                continue;
            // Torch's operators may give results of another layout then, which kernels refuse.
            if (reader.target != graph::kFusedTarget)
                return fmt::format("is also read by {}", reader.target);
            if (auto why = refusal_(graph_, reader, layouts_); !why.empty())
                return fmt::format("cannot be read there by {}: {}", reader.name, why);
        }
        return {};
    }

    Graph& graph_;
    const Refusal& refusal_;
    const std::vector<bool> escapes_;
    const PeakMemory memory_;
    const double most_;  // that the module takes at a time if nothing is in place
    Layouts layouts_;
    Homes homes_;
    std::vector<Found> found_;  // from the last to the first
};

}  // namespace

std::vector<WrittenCat> write_in_place(Graph& graph, const Refusal& refusal) {
    return Placer(graph, refusal).run();
}

}  // namespace fact::compose
