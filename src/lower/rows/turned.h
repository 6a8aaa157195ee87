// A pointwise row kernel that reads a tensor along other dimensions than it writes (turned.cuh).
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "lower/rows/lower.h"
#include "lower/rows/rows_form.h"

namespace fact::lower {

// The output is [batch..., columns..., row], a parameter [batch..., row, columns...].
struct TurnedForm {
    RowsForm dims;
    std::vector<ir::DimId> batch, columns;
    ir::DimId row{};
    std::uint32_t source = 0;  // that parameter
    // Others are read along the output's memory, after the tile has been turned.
    bool finishes = false;
    // The parameters among them that the row varies and whose neighbours are read together.
    std::set<std::uint32_t> along_row;
    int tile_rows = 64;
    int read = 1, write = 1;  // neighbours that are read, and written, together
};

// nullopt if all is read along the output's memory, or in yet another order.
std::optional<TurnedForm> turned_form(const ir::Kernel& kernel, const RowsForm& form,
                                      const RowsFacts& facts);
std::string turned_source(const ir::Kernel& kernel, const TurnedForm& form);
LaunchRecord turned_record(const ir::Kernel& kernel, const TurnedForm& form, std::string_view arch);

}  // namespace fact::lower
