#include "support/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "support/files.h"
#include "support/npy_header.h"

static_assert(std::endian::native == std::endian::little, "arrays are copied byte by byte");

namespace fact {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

Error damaged(std::string_view name, std::string_view what) {
    return {fmt::format("{} is not a complete .npy file: {}", name, what),
            "write it with numpy.save(file, array)", true};
}

std::size_t little_endian(std::string_view bytes) {
    std::size_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
}

// The header's text, and where the first element is.
struct Frame {
    std::string_view header;
    std::size_t data_begin = 0;
};

Result<Frame> frame(std::string_view bytes, std::string_view name) {
    if (!bytes.starts_with(kMagic)) return damaged(name, "it does not begin like one");
    // Six bytes of magic, two of version, and at least two with the length of the header.
    if (bytes.size() < 10) return damaged(name, "it ends within its header");
    const int version = static_cast<unsigned char>(bytes[6]);
    if (version < 1 || version > 3)
        return damaged(name,
                       fmt::format("it has version {} of the format; 1 to 3 are read", version));
    const std::size_t length_bytes = version == 1 ? 2 : 4, begin = 8 + length_bytes;
    if (bytes.size() < begin) return damaged(name, "it ends within its header");
    const std::size_t length = little_endian(bytes.substr(8, length_bytes));
    if (length > bytes.size() - begin) return damaged(name, "it ends within its header");
    return Frame{bytes.substr(begin, length), begin + length};
}

Result<NpyType> find_type(std::string_view descr, std::string_view name) {
    const auto refuse = [&](std::string_view hint) {
        return Error{fmt::format("{} has elements of type '{}', which is not read", name, descr),
                     std::string(hint), true};
    };
    if (descr.size() < 2) return refuse("save it as float32");
    if (descr[0] == '>') return refuse("save it little-endian: array.astype('<f4')");
    const std::string_view kind = descr.substr(1);
    if (std::string_view("<|=").find(descr[0]) != std::string_view::npos)
        for (const NpyTypeInfo& row : kNpyTypes)
            if (kind == row.descr.substr(1)) return row.type;
    return refuse("save it as bool, int8 to int64, uint8, or float16 to float64");
}

// How many bytes the elements take; nullopt if that overflows.
std::optional<std::size_t> data_bytes(NpyType type, const std::vector<std::int64_t>& shape) {
    constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
    std::size_t bytes = static_cast<std::size_t>(info(type).bytes);
    for (const std::int64_t extent : shape) {
        if (bytes > most / static_cast<std::size_t>(extent)) return std::nullopt;
        bytes *= static_cast<std::size_t>(extent);
    }
    return bytes;
}

// The same elements with the last dimension contiguous instead of the first.
std::string from_fortran(const std::string& data, const std::vector<std::int64_t>& shape,
                         std::size_t item_bytes) {
    std::vector<std::size_t> strides(shape.size());
    for (std::size_t d = 0, stride = item_bytes; d < shape.size(); ++d) {
        strides[d] = stride;
        stride *= static_cast<std::size_t>(shape[d]);
    }
    std::string out(data.size(), '\0');
    std::vector<std::int64_t> index(shape.size(), 0);
    std::size_t from = 0;
    for (std::size_t to = 0; to < out.size(); to += item_bytes) {
        std::copy_n(data.data() + from, item_bytes, out.data() + to);
        for (std::size_t d = shape.size(); d-- > 0;) {
            from += strides[d];
            if (++index[d] < shape[d]) break;
            from -= strides[d] * static_cast<std::size_t>(shape[d]);
            index[d] = 0;
        }
    }
    return out;
}

}  // namespace

std::int64_t num_elements(const NpyArray& array) {
    return static_cast<std::int64_t>(array.data.size()) / info(array.type).bytes;
}

Result<NpyArray> parse_npy(std::string bytes, std::string_view name) {
    const auto found = frame(bytes, name);
    if (!found) return found.error();
    const auto header = parse_npy_header(found->header);
    if (!header) return damaged(name, header.error().message);
    const auto type = find_type(header->descr, name);
    if (!type) return type.error();
    const auto needed = data_bytes(*type, header->shape);
    const std::size_t given = bytes.size() - found->data_begin;
    if (!needed || *needed > given)
        return damaged(name, fmt::format("shape ({}) of {} does not fit into its {} bytes",
                                         fmt::join(header->shape, ", "), info(*type).numpy, given));
    if (*needed < given)
        return damaged(name, fmt::format("{} bytes follow the array", given - *needed));
    NpyArray array{*type, header->shape, {}};
    bytes.erase(0, found->data_begin);
    array.data = std::move(bytes);
    if (header->fortran_order && array.shape.size() > 1)
        array.data = from_fortran(array.data, array.shape, info(*type).bytes);
    // Only 0 and 1 are valid values of a C++ bool.
    if (*type == NpyType::b1)
        for (char& c : array.data) c = c != 0;
    return array;
}

Result<NpyArray> read_npy(const std::filesystem::path& path, std::size_t max_bytes) {
    auto bytes = read_file(path, max_bytes);
    if (!bytes) return blame_input(bytes.error());
    return parse_npy(std::move(*bytes), path.string());
}

std::string npy_bytes(const NpyArray& array) {
    std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                     info(array.type).descr, fmt::join(array.shape, ", "),
                                     array.shape.size() == 1 ? "," : "");
    // NumPy requires the elements to begin at a multiple of 64, after a newline.
    constexpr std::size_t kAlign = 64;
    // Between magic and header: two bytes of version, two of length. After the header: the newline.
    const std::size_t used = kMagic.size() + 4 + header.size() + 1;
    header.append((kAlign - used % kAlign) % kAlign, ' ');
    header += '\n';
    if (header.size() > std::numeric_limits<std::uint16_t>::max())
        throw InternalError("an array of too many dimensions for a .npy file");
    std::string bytes(kMagic);
    bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff),
              static_cast<char>(header.size() >> 8)};
    return bytes + header + array.data;
}

Result<> write_npy(const std::filesystem::path& path, const NpyArray& array) {
    return write_file_atomic(path, npy_bytes(array));
}

}  // namespace fact
