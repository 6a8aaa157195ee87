// The packages or kernels that a process has open, by name (content_name.h).
#pragma once

#include <c10/util/Exception.h>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "torch/content_name.h"

namespace fact::exec {

// T has `open`, `identity` and `identity_of` as Package has. Safe on any thread. Throws if
// something cannot be opened, or is not what its name says.
template <class T>
class OpenTable {
  public:
    // Opens what is at the path now, and returns its name. Items with the same name are shared.
    template <class... Options>
    std::string open(const std::filesystem::path& given, const Options&... options) {
        const auto path = absolute_path(given);
        const std::lock_guard opening(opening_);
        if (const auto hash = T::identity_of(path); hash && !hash->empty())
            if (const auto name = ContentName{*hash, path}.text(); hold(name)) return name;
        auto opened = T::open(path, options...);
        TORCH_CHECK(opened.ok(), opened.ok() ? "" : opened.error().text());
        const auto name = ContentName{(*opened)->identity(), path}.text();
        if (!hold(name)) add(name, std::move(*opened));
        return name;
    }

    // Opens the item of this name for one more holder, who will close it.
    template <class... Options>
    void open_again(const std::string& name, const Options&... options) {
        const std::lock_guard opening(opening_);
        if (!hold(name)) add(name, opened_again(name, options...));
    }

    void close(const std::string& name) {
        std::shared_ptr<T> last;  // outlives the lock, so that the item is destroyed without it
        const std::unique_lock lock(mutex_);
        const auto found = entries_.find(name);
        if (found == entries_.end() || --found->second.holders > 0) return;
        last = std::move(found->second.item);
        entries_.erase(found);
    }

    // An item that an exported program names and no module holds is opened here, and stays open:
    // there is no notice when the program is gone.
    std::shared_ptr<T> at(const std::string& name) {
        if (auto item = find(name)) return item;
        const std::lock_guard opening(opening_);
        if (auto item = find(name)) return item;
        auto item = opened_again(name);
        add(name, item);
        return item;
    }

  private:
    struct Entry {
        std::shared_ptr<T> item;
        int holders = 1;
    };

    std::shared_ptr<T> find(const std::string& name) const {
        const std::shared_lock lock(mutex_);
        const auto found = entries_.find(name);
        return found == entries_.end() ? nullptr : found->second.item;
    }

    // Counts one more holder; false if no item of this name is open.
    bool hold(const std::string& name) {
        const std::unique_lock lock(mutex_);
        const auto found = entries_.find(name);
        if (found == entries_.end()) return false;
        ++found->second.holders;
        return true;
    }

    void add(const std::string& name, std::shared_ptr<T> item) {
        const std::unique_lock lock(mutex_);
        entries_.emplace(name, Entry{std::move(item)});
    }

    template <class... Options>
    static std::shared_ptr<T> opened_again(const std::string& text, const Options&... options) {
        const auto name = ContentName::parse(text);
        TORCH_CHECK(name.ok(), name.ok() ? "" : name.error().text());
        const auto now = T::identity_of(name->path);
        TORCH_CHECK(now.ok(),
                    now.ok() ? "" : cannot_open_again(*name, {now.error().message, {}}).text());
        // An archive's identity is only known once it is open: it is compared below.
        TORCH_CHECK(now->empty() || *now == name->hash, other_content(*name, *now).text());
        auto opened = T::open(name->path, options...);
        TORCH_CHECK(opened.ok(),
                    opened.ok() ? "" : cannot_open_again(*name, opened.error()).text());
        const auto& found = (*opened)->identity();
        TORCH_CHECK(found == name->hash, other_content(*name, found).text());
        return std::move(*opened);
    }

    mutable std::shared_mutex mutex_;
    std::mutex opening_;  // apart from mutex_: calls of open items do not wait while one is opened
    std::unordered_map<std::string, Entry> entries_;
};

}  // namespace fact::exec
