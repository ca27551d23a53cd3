// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy: the magic "\x93NUMPY", a version, the length of a header, the header (a Python
// dictionary with 'descr', 'fortran_order' and 'shape'), then the values. Versions 1.0, 2.0, 3.0.
// (numpy.lib.format, NEP 1.)
#pragma once

#include "readers/array.hpp"
#include "readers/byte_stream.hpp"

namespace quern {

/// Arrays of bool, integers and floats of 1 to 8 bytes, in either byte order, C or Fortran order.
/// InputError for what else the file may be: damaged, truncated, too long, of Python objects,
/// structures, texts or complex numbers, empty or larger than its bytes.
Array read_npy(const ByteStream& stream, const ChooseRange& choose = {});

}  // namespace quern
