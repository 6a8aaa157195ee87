#include "target/torch_precision.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace fact {

std::string describe(const TorchPrecision& precision) {
    const auto fp32 = [](bool tf32) { return tf32 ? "TF32" : "fp32"; };
    auto text = fmt::format("fp32 products in {}, convolutions in {}",
                            fp32(precision.tf32.products), fp32(precision.tf32.convolutions));
    if (!precision.reduced_bf16_sums) text += ", no reduced sums in bf16";
    if (!precision.reduced_fp16_sums) text += ", no reduced sums in fp16";
    if (precision.fp16_accumulation) text += ", fp16 accumulated in fp16";
    return text;
}

std::string to_json(const TorchPrecision& precision) {
    const nlohmann::ordered_json json{{"tf32_products", precision.tf32.products},
                                      {"tf32_convolutions", precision.tf32.convolutions},
                                      {"reduced_bf16_sums", precision.reduced_bf16_sums},
                                      {"reduced_fp16_sums", precision.reduced_fp16_sums},
                                      {"fp16_accumulation", precision.fp16_accumulation}};
    return json.dump();
}

Result<TorchPrecision> torch_precision_from_json(std::string_view text) {
    TorchPrecision out;
    try {
        const auto json = nlohmann::json::parse(text);
        const auto read = [&](const char* name, bool& value) { value = json.value(name, value); };
        read("tf32_products", out.tf32.products);
        read("tf32_convolutions", out.tf32.convolutions);
        read("reduced_bf16_sums", out.reduced_bf16_sums);
        read("reduced_fp16_sums", out.reduced_fp16_sums);
        read("fp16_accumulation", out.fp16_accumulation);
    } catch (const nlohmann::json::exception& error) {
        return Error{fmt::format("torch's precision settings cannot be read: {}", error.what()),
                     {}};
    }
    return out;
}

}  // namespace fact
