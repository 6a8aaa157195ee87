#include "torch/session.h"

#include "torch/kernel_files.h"
#include "torch/stream.h"
#include "torch/text_check.h"

namespace fact::exec {

Result<Session> Session::open(const verify::OpenRequest& request, const Turns::Take& take_turn,
                              verify::OpenReply& reply) {
    Session session;
    session.request_ = request;
    auto call = read_call(request.call);
    if (!call) return call.error();
    auto text = read_kernel_text(request.kernel_text);
    if (!text) return text.error();
    session.call_ = std::move(*call);
    session.text_ = std::move(*text);
    auto& buffers = session.buffers_;
    if (!request.weights.empty()) {
        auto archive = graph::read_pt2(request.weights);
        if (!archive) return archive.error();
        buffers = buffers_of(session.call_, *archive);
        session.mapping_ = archive->mapping;
    }
    const bool on_gpu = request.device.starts_with("cuda");
    const bool check = request.check_text && !session.text_.only_interface;
    if (on_gpu && !cuda_available())
        return Error{"torch sees no GPU here", "use --device cpu, or a PyTorch built with CUDA"};
    if (check || !on_gpu) {
        auto checked = check_text_shrunk(session.call_, session.text_, buffers, request.authored);
        if (!checked) return checked.error();
        if (check) reply.text_checks = std::move(checked->checks);
        reply.note = checked->small.note;
        if (!on_gpu) {
            session.call_ = std::move(checked->small.call);
            session.turns_ = std::make_shared<Turns>(session.device_, take_turn);
            session.oracle_ = std::move(checked->small.oracle);
            session.cases_ = std::move(checked->small.cases);
            return session;
        }
    }
    session.device_ = c10::Device(request.device == "cuda" ? "cuda:0" : request.device);
    session.reference_precision_ = reference_precision(request.precision, session.text_);
    set_precision(session.reference_precision_);
    auto oracle = Oracle::make(session.call_, session.device_, buffers,
                               session.reference_precision_.tf32.anywhere());
    if (!oracle) return oracle.error();
    session.turns_ = std::make_shared<Turns>(session.device_, take_turn);
    session.oracle_ = std::move(*oracle);
    session.oracle_->after_making([turns = session.turns_] { turns->rest(); });
    session.cases_ = draw_cases(*session.oracle_, session.text_, request.authored);
    session.oracle_->numbers(session.cases_.front());  // what does not fit into memory is said here
    synchronize_all(session.device_);
    return session;
}

}  // namespace fact::exec
