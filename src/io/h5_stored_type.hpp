// SPDX-License-Identifier: Apache-2.0
// Private to io/: the type of HDF5 for numbers in a shard.
#pragma once

#include "io/h5_file.hpp"
#include "io/shard_content.hpp"

namespace quern {

inline H5Type h5_type_of(StoredType type) {
  switch (type) {
    case StoredType::uint8:
      return H5Type::uint8;
    case StoredType::int32:
      return H5Type::int32;
    case StoredType::float16:
      return H5Type::float16;
    case StoredType::float32:
      break;
  }
  return H5Type::float32;
}

}  // namespace quern
