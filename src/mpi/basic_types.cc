#include "mpi/basic_types.h"

#include <unordered_map>

namespace suiro::mpi {
namespace {

using Elements = std::vector<BasicType>;

BasicType integer_of(int bytes) { return BasicType{BasicKind::kSigned, bytes, bytes}; }
BasicType logical_of(int bytes) { return BasicType{BasicKind::kLogical, bytes, bytes}; }
BasicType real_of(int bytes) { return BasicType{BasicKind::kFloat, bytes, bytes}; }
BasicType complex_of(int bytes) { return BasicType{BasicKind::kComplex, bytes, bytes}; }

int size_of(MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size;
}

class Table {
 public:
  Table() {
    add_c_types();
    add_fortran_types();
    add_pairs();
  }
  const Elements* find(MPI_Datatype type) const {
    auto found = rows_.find((uintptr_t)type);
    return found == rows_.end() ? nullptr : &found->second;
  }

 private:
  void add(MPI_Datatype type, Elements elements) {
    if (type != MPI_DATATYPE_NULL) rows_.emplace((uintptr_t)type, std::move(elements));
  }
  void add(MPI_Datatype type, BasicType element) { add(type, Elements{element}); }
  /// Types whose size depends on the Fortran compiler.
  void add_sized(MPI_Datatype type, BasicType (*of)(int)) {
    if (type != MPI_DATATYPE_NULL && size_of(type) > 0) add(type, of(size_of(type)));
  }

  void add_c_types() {
    for (MPI_Datatype type : {MPI_BYTE, MPI_PACKED, MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR}) add(type, kBasicByte);
    add(MPI_WCHAR, kBasicWideChar);
    add(MPI_SHORT, kBasicInt16);
    add(MPI_INT, kBasicInt32);
    add(MPI_LONG, kBasicLong);
    add(MPI_LONG_LONG, kBasicInt64);
    add(MPI_UNSIGNED_SHORT, kBasicUint16);
    add(MPI_UNSIGNED, kBasicUint32);
    add(MPI_UNSIGNED_LONG, kBasicUnsignedLong);
    add(MPI_UNSIGNED_LONG_LONG, kBasicUint64);
    add(MPI_FLOAT, kBasicFloat);
    add(MPI_DOUBLE, kBasicDouble);
    add(MPI_LONG_DOUBLE, kBasicLongDouble);
    add(MPI_C_BOOL, kBasicBool);
    add(MPI_INT8_T, kBasicInt8);
    add(MPI_INT16_T, kBasicInt16);
    add(MPI_INT32_T, kBasicInt32);
    add(MPI_INT64_T, kBasicInt64);
    add(MPI_UINT8_T, kBasicUint8);
    add(MPI_UINT16_T, kBasicUint16);
    add(MPI_UINT32_T, kBasicUint32);
    add(MPI_UINT64_T, kBasicUint64);
    add(MPI_C_FLOAT_COMPLEX, kBasicComplexFloat);
    add(MPI_C_DOUBLE_COMPLEX, kBasicComplexDouble);
    add(MPI_C_LONG_DOUBLE_COMPLEX, kBasicComplexLongDouble);
    for (MPI_Datatype type : {MPI_AINT, MPI_OFFSET, MPI_COUNT}) add(type, kBasicInt64);
    add(MPI_CXX_BOOL, kBasicBool);
    add(MPI_CXX_FLOAT_COMPLEX, kBasicComplexFloat);
    add(MPI_CXX_DOUBLE_COMPLEX, kBasicComplexDouble);
    add(MPI_CXX_LONG_DOUBLE_COMPLEX, kBasicComplexLongDouble);
  }

  void add_fortran_types() {
    add(MPI_CHARACTER, kBasicByte);
    add_sized(MPI_LOGICAL, logical_of);
    for (MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
      add_sized(type, integer_of);
    for (MPI_Datatype type : {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8, MPI_REAL16}) add_sized(type, real_of);
    for (MPI_Datatype type : {MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32})
      add_sized(type, complex_of);
    // Pairs of Fortran numbers for MAXLOC are two elements without padding.
    add_pair_of(MPI_2INTEGER, integer_of);
    add_pair_of(MPI_2REAL, real_of);
    add_pair_of(MPI_2DOUBLE_PRECISION, real_of);
  }
  void add_pair_of(MPI_Datatype type, BasicType (*of)(int)) {
    if (type == MPI_DATATYPE_NULL || size_of(type) <= 0) return;
    BasicType half = of(size_of(type) / 2);
    add(type, Elements{half, half});
  }

  void add_pairs() {
    add(MPI_FLOAT_INT, Elements{kBasicFloat, kBasicInt32});
    add(MPI_DOUBLE_INT, Elements{kBasicDouble, kBasicInt32});
    add(MPI_LONG_INT, Elements{kBasicLong, kBasicInt32});
    add(MPI_SHORT_INT, Elements{kBasicInt16, kBasicInt32});
    add(MPI_2INT, Elements{kBasicInt32, kBasicInt32});
    add(MPI_LONG_DOUBLE_INT, Elements{kBasicLongDouble, kBasicInt32});
  }

  std::unordered_map<uintptr_t, Elements> rows_;
};

/// Types made by MPI_Type_create_f90_*: no names of their own, known by their combiner.
Result<Elements> parametrised(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS) {
    switch (combiner) {
      case MPI_COMBINER_F90_INTEGER: return Elements{integer_of(size_of(type))};
      case MPI_COMBINER_F90_REAL: return Elements{real_of(size_of(type))};
      case MPI_COMBINER_F90_COMPLEX: return Elements{complex_of(size_of(type))};
      default: break;
    }
  }
  return Status(ErrorKind::kType, "a datatype has no form in the file's data representation");
}

}  // namespace

Result<std::vector<BasicType>> basic_elements(MPI_Datatype predefined) {
  static const Table* table = new Table;  // lives as long as the predefined types do
  if (const Elements* elements = table->find(predefined)) return *elements;
  return parametrised(predefined);
}

}  // namespace suiro::mpi
