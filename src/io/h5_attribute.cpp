// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/assert.hpp"
#include "io/h5_file.hpp"
#include "io/h5_lookup.hpp"
#include "io/h5_raw.hpp"

namespace quern {

namespace {

constexpr std::size_t kMaxFixedString = 1 << 20;

H5Handle open_attribute(hid_t file, const std::string& object, const std::string& name) {
  return {H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
}

bool is_single(hid_t attribute) {
  const H5Handle space(H5Aget_space(attribute), H5Sclose);
  return space.valid() && H5Sget_simple_extent_npoints(space.get()) == 1;
}

// -> a complaint, or nothing. (Closing handles clears what h5_reason() knows, so it is asked here.)
std::string write_scalar(hid_t file, const std::string& object, const std::string& name,
                         hid_t stored_type, hid_t memory_type, const void* value) {
  const H5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  H5Handle attribute(H5Acreate_by_name(file, object.c_str(), name.c_str(), stored_type, space.get(),
                                       H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Aclose);
  const bool good =
      attribute.valid() && H5Awrite(attribute.get(), memory_type, value) >= 0 && attribute.close();
  return good ? "" : h5_reason();
}

H5Handle utf8_type(std::size_t size) {
  H5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  expect(type.valid() && H5Tset_size(type.get(), size) >= 0 &&
             H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0,
         "an HDF5 string type");
  return type;
}

// A string of fixed length, as numpy writes bytes. Padding of any kind is cut off.
std::string read_fixed_string(hid_t attribute, hid_t type, std::string& text) {
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > kMaxFixedString) return "the string is too long";
  text.assign(size, '\0');
  if (H5Aread(attribute, type, text.data()) < 0) return h5_reason();
  text.resize(std::min(text.size(), text.find('\0')));
  return "";
}

std::string read_variable_string(hid_t attribute, hid_t type, std::string& text) {
  const H5Handle memory = utf8_type(H5T_VARIABLE);
  char* raw = nullptr;
  // HDF5 does not convert between character sets: what is stored as ASCII is read as ASCII.
  if (H5Tset_cset(memory.get(), H5Tget_cset(type)) < 0 ||
      H5Aread(attribute, memory.get(), &raw) < 0) {
    return h5_reason();
  }
  if (raw != nullptr) text = raw;
  H5free_memory(raw);
  return "";
}

struct IntegerValue {
  std::uint64_t bits = 0;
  bool is_signed = false;
};

// -> a complaint, or nothing and the value.
std::string read_integer(hid_t file, const std::string& object, const std::string& name,
                         IntegerValue& value) {
  const H5Handle attribute = open_attribute(file, object, name);
  if (!attribute.valid()) return h5_reason();
  const H5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  if (!type.valid() || H5Tget_class(type.get()) != H5T_INTEGER ||
      H5Tget_size(type.get()) > sizeof(value.bits) || !is_single(attribute.get())) {
    return "expected one integer";
  }
  value.is_signed = H5Tget_sign(type.get()) != H5T_SGN_NONE;
  const hid_t memory = value.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
  return H5Aread(attribute.get(), memory, &value.bits) < 0 ? h5_reason() : "";
}

std::string read_real(hid_t file, const std::string& object, const std::string& name,
                      double& value) {
  const H5Handle attribute = open_attribute(file, object, name);
  if (!attribute.valid()) return h5_reason();
  const H5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  if (!type.valid() || H5Tget_class(type.get()) != H5T_FLOAT ||
      H5Tget_size(type.get()) > sizeof(value) || !is_single(attribute.get())) {
    return "expected one floating-point number";
  }
  return H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, &value) < 0 ? h5_reason() : "";
}

std::string read_text(hid_t file, const std::string& object, const std::string& name,
                      std::string& value) {
  const H5Handle attribute = open_attribute(file, object, name);
  if (!attribute.valid()) return h5_reason();
  const H5Handle type(H5Aget_type(attribute.get()), H5Tclose);
  if (!type.valid() || H5Tget_class(type.get()) != H5T_STRING || !is_single(attribute.get())) {
    return "expected one string";
  }
  return H5Tis_variable_str(type.get()) > 0
             ? read_variable_string(attribute.get(), type.get(), value)
             : read_fixed_string(attribute.get(), type.get(), value);
}

}  // namespace

void H5File::write_int64(const std::string& object, const std::string& name, std::int64_t value) {
  ensure_object(object);
  confirm_written(object, name,
                  write_scalar(id_, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value));
}

void H5File::write_uint64(const std::string& object, const std::string& name, std::uint64_t value) {
  ensure_object(object);
  confirm_written(object, name,
                  write_scalar(id_, object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value));
}

void H5File::write_double(const std::string& object, const std::string& name, double value) {
  ensure_object(object);
  confirm_written(object, name,
                  write_scalar(id_, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value));
}

void H5File::write_string(const std::string& object, const std::string& name,
                          const std::string& value) {
  expect(value.find('\0') == std::string::npos, "a string without zero bytes");
  ensure_object(object);
  const H5Handle type = utf8_type(H5T_VARIABLE);
  const char* text = value.c_str();
  confirm_written(object, name, write_scalar(id_, object, name, type.get(), type.get(), &text));
}

bool H5File::has_attribute(const std::string& object, const std::string& name) const {
  if (!has_group(object) && !has_dataset(object)) return false;
  const bool has_it = H5Aexists_by_name(id_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
  expect_system();
  return has_it;
}

std::int64_t H5File::read_int64(const std::string& object, const std::string& name) const {
  expect_attribute(object, name);
  IntegerValue value;
  const std::string complaint = read_integer(id_, object, name, value);
  if (!complaint.empty()) fail_attribute(object, name, complaint);
  const auto number = static_cast<std::int64_t>(value.bits);
  if (!value.is_signed && number < 0) fail_attribute(object, name, "the number is too large");
  return number;
}

std::uint64_t H5File::read_uint64(const std::string& object, const std::string& name) const {
  expect_attribute(object, name);
  IntegerValue value;
  const std::string complaint = read_integer(id_, object, name, value);
  if (!complaint.empty()) fail_attribute(object, name, complaint);
  if (value.is_signed && static_cast<std::int64_t>(value.bits) < 0) {
    fail_attribute(object, name, "the number is negative");
  }
  return value.bits;
}

double H5File::read_double(const std::string& object, const std::string& name) const {
  expect_attribute(object, name);
  double value = 0;
  const std::string complaint = read_real(id_, object, name, value);
  if (!complaint.empty()) fail_attribute(object, name, complaint);
  return value;
}

std::string H5File::read_string(const std::string& object, const std::string& name) const {
  expect_attribute(object, name);
  check_heaps();
  std::string value;
  const std::string complaint = read_text(id_, object, name, value);
  if (!complaint.empty()) fail_attribute(object, name, complaint);
  return value;
}

void H5File::confirm_written(const std::string& object, const std::string& name,
                             const std::string& complaint) const {
  if (complaint.empty()) return;
  fail_writing(fmt::format("cannot write attribute '{}' of '{}': {}", name, object, complaint));
}

void H5File::expect_attribute(const std::string& object, const std::string& name) const {
  if (!has_attribute(object, name)) {
    fail_reading(fmt::format("no attribute '{}' of '{}'", name, object));
  }
}

void H5File::fail_attribute(const std::string& object, const std::string& name,
                            const std::string& complaint) const {
  fail_reading(fmt::format("cannot use attribute '{}' of '{}': {}", name, object, complaint));
}

}  // namespace quern
