// The outcome of something the outside world can refuse: a file, a compiler, a GPU.
//
// There are three kinds of failure: Diagnostics (diagnostics.h) for mistakes in the user's kernel
// text, Result for what the outside world refuses, InternalError for bugs in FACT.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace fact {

struct Error {
    std::string message;     // what was wrong, and where
    std::string hint;        // what to do about it; may be empty
    bool bad_input = false;  // the user's input is at fault, not the run

    std::string text() const { return hint.empty() ? message : message + "\n  " + hint; }
};

// The same error, marked as caused by the user's input.
inline Error blame_input(Error error) {
    error.bad_input = true;
    return error;
}

// A bug in FACT itself, never a mistake of the user.
class InternalError : public std::logic_error {
  public:
    using std::logic_error::logic_error;
};

struct Ok {};

template <class T = Ok>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

// Lambdas joined into one visitor for std::visit. Without an `auto` case, a new alternative is a
// compile error wherever it is not handled.
template <class... Fs>
struct overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>;

// For a case that several alternatives share: `[](const one_of<Product, Attention> auto& n)`.
template <class T, class... Ts>
concept one_of = (std::same_as<std::remove_const_t<T>, Ts> || ...);

}  // namespace fact
