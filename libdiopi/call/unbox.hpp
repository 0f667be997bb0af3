/// Unbox<T>: how a boxed Value becomes a C argument of type T, and what is stored back after the call: also what the
/// callee must not write, so that the box shows it.
#pragma once

#include <array>

#include "core/value.hpp"
#include "runtime/context.hpp"

namespace diopi {

/// Numbers and enumerations; the box holds an int64_t or a double.
template <class T>
class Unbox {
 public:
    explicit Unbox(Value& value) {
        if (const auto* integer = std::get_if<int64_t>(&value))
            value_ = static_cast<T>(*integer);
        else if (const auto* floating = std::get_if<double>(&value))
            value_ = static_cast<T>(*floating);
        else if (const auto* flag = std::get_if<bool>(&value))
            value_ = static_cast<T>(*flag);
    }
    T get() { return value_; }
    void store(Context&, Value&) {}

 private:
    T value_{};
};

/// One tensor, by its handle.
template <class Handle>
class UnboxTensor {
 public:
    explicit UnboxTensor(Value& value) {
        if (const auto* tensor = std::get_if<TensorPtr>(&value)) handle_ = tensor->get();
    }
    Handle get() { return handle_; }
    void store(Context&, Value&) {}

 private:
    Handle handle_ = nullptr;
};
template <>
struct Unbox<diopiTensorHandle_t> : UnboxTensor<diopiTensorHandle_t> {
    using UnboxTensor::UnboxTensor;
};
template <>
struct Unbox<diopiConstTensorHandle_t> : UnboxTensor<diopiConstTensorHandle_t> {
    using UnboxTensor::UnboxTensor;
};

/// An array of tensors, on the stack while it is short. Handles that the callee changed are its own results.
template <class Handle>
class UnboxTensorList {
 public:
    explicit UnboxTensorList(Value& value) {
        const auto* list = std::get_if<TensorList>(&value);
        if (list == nullptr) return;
        if (list->size() > small_.size()) large_.resize(list->size());
        handles_ = large_.empty() ? small_.data() : large_.data();
        for (size_t i = 0; i < list->size(); ++i) handles_[i] = (*list)[i].get();
    }
    Handle* get() { return handles_; }
    void store(Context& context, Value& value) {
        if (handles_ == nullptr) return;
        auto& list = std::get<TensorList>(value);
        for (size_t i = 0; i < list.size(); ++i) {
            if (list[i].get() != handles_[i]) list[i] = context.take(handles_[i]);
        }
    }

 private:
    std::array<Handle, 8> small_{};
    std::vector<Handle> large_;
    Handle* handles_ = nullptr;
};
template <>
struct Unbox<diopiTensorHandle_t*> : UnboxTensorList<diopiTensorHandle_t> {
    using UnboxTensorList::UnboxTensorList;
};
template <>
struct Unbox<diopiConstTensorHandle_t*> : UnboxTensorList<diopiConstTensorHandle_t> {
    using UnboxTensorList::UnboxTensorList;
};

class UnboxScalar {
 public:
    explicit UnboxScalar(Value& value) {
        const auto* scalar = std::get_if<Scalar>(&value);
        if (scalar == nullptr) return;
        scalar_.stype = to_c(scalar->dtype);
        if (is_floating(scalar->dtype))
            scalar_.fval = scalar->real;
        else
            scalar_.ival = scalar->integer;
        present_ = true;
    }
    diopiScalar_t* get() { return present_ ? &scalar_ : nullptr; }
    void store(Context&, Value& value) {
        if (!present_) return;
        auto& scalar = std::get<Scalar>(value);
        scalar.dtype = from_c(scalar_.stype);
        if (is_floating(scalar.dtype))
            scalar.real = scalar_.fval;
        else
            scalar.integer = scalar_.ival;
    }

 private:
    diopiScalar_t scalar_{};
    bool present_ = false;
};
template <>
struct Unbox<const diopiScalar_t*> : UnboxScalar {
    using UnboxScalar::UnboxScalar;
};
template <>
struct Unbox<diopiScalar_t*> : UnboxScalar {
    using UnboxScalar::UnboxScalar;
};

class UnboxSize {
 public:
    explicit UnboxSize(Value& value) {
        if (const auto* list = std::get_if<IntList>(&value)) {
            size_ = {list->data(), static_cast<int64_t>(list->size())};
            present_ = true;
        }
    }
    /// The callee writes into the list itself. One that it replaces becomes empty.
    void store(Context&, Value& value) {
        if (!present_) return;
        auto& list = std::get<IntList>(value);
        if (size_.data != list.data() || size_.len != static_cast<int64_t>(list.size())) list.clear();
    }

 protected:
    diopiSize_t size_{nullptr, 0};
    bool present_ = false;
};
template <>
struct Unbox<diopiSize_t> : UnboxSize {
    using UnboxSize::UnboxSize;
    diopiSize_t get() { return size_; }
};
template <>
struct Unbox<diopiSize_t*> : UnboxSize {
    using UnboxSize::UnboxSize;
    diopiSize_t* get() { return present_ ? &size_ : nullptr; }
};

/// A pointer to one number: null for an absent one, written back unless const.
template <class T>
class UnboxPointer {
 public:
    using Plain = std::remove_const_t<T>;
    explicit UnboxPointer(Value& value) {
        if (auto* number = std::get_if<Plain>(&value)) {
            value_ = *number;
            present_ = true;
        }
    }
    T* get() { return present_ ? &value_ : nullptr; }
    void store(Context&, Value& value) {
        if constexpr (!std::is_const_v<T>) {
            if (present_) value = value_;
        }
    }

 private:
    Plain value_{};
    bool present_ = false;
};
#define DIOPI_UNBOX_POINTER(T)            \
    template <>                           \
    struct Unbox<T*> : UnboxPointer<T> {  \
        using UnboxPointer::UnboxPointer; \
    }
DIOPI_UNBOX_POINTER(int64_t);
DIOPI_UNBOX_POINTER(const int64_t);
DIOPI_UNBOX_POINTER(double);
DIOPI_UNBOX_POINTER(const double);
DIOPI_UNBOX_POINTER(bool);
DIOPI_UNBOX_POINTER(const bool);
#undef DIOPI_UNBOX_POINTER

template <>
class Unbox<const char*> {
 public:
    explicit Unbox(Value& value) {
        if (const auto* text = std::get_if<std::string>(&value)) text_ = text->c_str();
    }
    const char* get() { return text_; }
    void store(Context&, Value&) {}

 private:
    const char* text_ = nullptr;
};

template <>
class Unbox<diopiGeneratorHandle_t> {
 public:
    explicit Unbox(Value& value) {
        if (const auto* generator = std::get_if<diopiGeneratorHandle_t>(&value)) generator_ = *generator;
    }
    diopiGeneratorHandle_t get() { return generator_; }
    void store(Context&, Value&) {}

 private:
    diopiGeneratorHandle_t generator_ = nullptr;
};
/// The callee gets the list itself.
template <>
class Unbox<diopiGeneratorHandle_t*> {
 public:
    explicit Unbox(Value& value) {
        if (auto* list = std::get_if<GeneratorList>(&value)) generators_ = list->data();
    }
    diopiGeneratorHandle_t* get() { return generators_; }
    void store(Context&, Value&) {}

 private:
    diopiGeneratorHandle_t* generators_ = nullptr;
};
template <>
class Unbox<void*> {
 public:
    explicit Unbox(Value&) {}
    void* get() { return nullptr; }
    void store(Context&, Value&) {}
};

}  // namespace diopi
