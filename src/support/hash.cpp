#include "support/hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace fact {
namespace {

void absorb(Sha256State& state, const unsigned char* data, std::size_t blocks) {
    static const Sha256Blocks fastest =
        sha256_blocks_of_cpu() ? sha256_blocks_of_cpu() : sha256_blocks_portable;
    fastest(state, data, blocks);
}

Error cannot_read(const std::filesystem::path& path, int code) {
    return {fmt::format("cannot read {}: {}", path.string(), std::strerror(code)), {}};
}

}  // namespace

void Sha256::add(std::string_view bytes) {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    const auto take = [&](std::size_t count) {
        data += count;
        left -= count;
        length_ += count;
    };
    if (const std::size_t used = length_ % kSha256Block; used > 0) {
        const std::size_t count = std::min(left, kSha256Block - used);
        if (count > 0) std::memcpy(rest_.data() + used, data, count);
        take(count);
        if (used + count < kSha256Block) return;
        absorb(state_, rest_.data(), 1);
    }
    const std::size_t blocks = left / kSha256Block;
    absorb(state_, data, blocks);
    take(blocks * kSha256Block);
    if (left > 0) std::memcpy(rest_.data(), data, left);
    take(left);
}

std::string Sha256::hex() const {
    // The remaining bytes, a one bit, zeros, and in the last 8 bytes the length in bits. There is a
    // second block if the first has no room for the length.
    std::array<unsigned char, 2 * kSha256Block> tail{};
    const std::size_t rest = length_ % kSha256Block;
    std::memcpy(tail.data(), rest_.data(), rest);
    tail[rest] = 0x80;
    const std::size_t padded = rest < 56 ? kSha256Block : 2 * kSha256Block;
    const std::uint64_t bits = length_ * 8;
    for (int i = 0; i < 8; ++i) tail[padded - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    Sha256State state = state_;
    absorb(state, tail.data(), padded / kSha256Block);

    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string result;
    for (std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) result += kDigits[word >> shift & 15];
    return result;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.hex();
}

std::string short_hash(std::string_view bytes) {
    return sha256_hex(bytes).substr(0, 16);
}

Result<std::string> sha256_of_file(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return cannot_read(path, errno);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL);
    Sha256 hash;
    std::vector<char> piece(1 << 20);
    ssize_t count = 0;
    while ((count = ::read(file, piece.data(), piece.size())) != 0) {
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) break;
        hash.add({piece.data(), static_cast<std::size_t>(count)});
    }
    const int failure = count < 0 ? errno : 0;
    ::close(file);
    if (failure != 0) return cannot_read(path, failure);
    return hash.hex();
}

}  // namespace fact
