#include "lower/product/window_operand.h"

#include <algorithm>

#include "ir/dims.h"

namespace fact::lower {

std::optional<WindowOperand> window_operand(const ir::Kernel& kernel, ir::ExprId operand) {
    const auto* view = std::get_if<ir::View>(&kernel[operand].node);
    if (!view) return std::nullopt;
    const auto* permute = std::get_if<ir::Permute>(&kernel[view->x].node);
    const auto* window = std::get_if<ir::Window>(&kernel[permute ? permute->x : view->x].node);
    if (!window || window->outside != 0) return std::nullopt;

    const auto& dims = kernel[window->x].type.dims;
    const std::size_t windowed = window->places.size();
    if (windowed > 3 || dims.size() < windowed + 1 || dims.size() > windowed + 2)
        return std::nullopt;
    WindowOperand found;
    found.images = window->x;
    const std::size_t first = dims.size() - windowed - 1;  // of the dimensions with windows
    std::vector<ir::DimId> rows, columns;
    if (first == 1) {
        found.image = 0;
        rows.push_back(dims[0]);
    }
    for (std::size_t i = first; i + 1 < dims.size(); ++i) {
        const auto places = std::ranges::find_if(
            window->places, [&](ir::DimId dim) { return kernel[dim].window->of == dims[i]; });
        if (places == window->places.end()) return std::nullopt;
        rows.push_back(*places);
        columns.push_back(kernel[*places].window->taps);
        found.places.insert(found.places.begin(), *places);
    }
    columns.push_back(dims.back());

    // The view [(image,) rows, columns] has all of these in order.
    std::vector<ir::DimId> all = rows;
    all.insert(all.end(), columns.begin(), columns.end());
    const auto& merged = kernel[operand].type.dims;
    const bool is_matrix = merged.size() == 2 || (merged.size() == 3 && found.image == 0 &&
                                                  merged.front() == dims.front());
    if (!is_matrix || kernel[view->x].type.dims != all ||
        kernel.factors({merged.back()}) != kernel.factors(columns))
        return std::nullopt;
    return found;
}

}  // namespace fact::lower
