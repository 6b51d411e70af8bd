// Moving bytes between scattered pieces and a contiguous buffer. The length of the pieces is decided once per run; the
// loops below then copy with constant sizes, which become plain loads and stores. Every copy touches the bytes of its
// piece only: a longer store would overwrite bytes that are not ours.
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <cstring>

#include "access/tiling.h"
#include "access/walker.h"

namespace suiro {
namespace {

using access_internal::ListRun;
using access_internal::Walker;
using std::byte;

/// Copies exactly kLength bytes.
template <int64_t kLength>
struct Exactly {
  void operator()(byte* to, const byte* from) const { std::memcpy(to, from, kLength); }
};

/// Copies kUnit < length <= 2 * kUnit bytes as two units that overlap. Both loads come before the stores, so the
/// compiler keeps the units in registers.
template <int64_t kUnit>
struct TwoUnits {
  int64_t length;
  void operator()(byte* to, const byte* from) const {
    byte head[kUnit];
    byte tail[kUnit];
    std::memcpy(head, from, kUnit);
    std::memcpy(tail, from + (length - kUnit), kUnit);
    std::memcpy(to, head, kUnit);
    std::memcpy(to + (length - kUnit), tail, kUnit);
  }
};

/// Any length above kUnit bytes, in whole units and a last one that overlaps.
template <int64_t kUnit>
struct Units {
  int64_t length;
  void operator()(byte* to, const byte* from) const {
    for (int64_t i = 0; i < length - kUnit; i += kUnit) std::memcpy(to + i, from + i, kUnit);
    std::memcpy(to + (length - kUnit), from + (length - kUnit), kUnit);
  }
};

struct AnyLength {
  int64_t length;
  void operator()(byte* to, const byte* from) const { std::memcpy(to, from, static_cast<size_t>(length)); }
};

constexpr int64_t kLongestByUnits = 128;  // beyond it, the call of memcpy pays

/// Calls loop(copy) with the fastest way to copy `length` bytes.
template <class Loop>
void with_copy_of(int64_t length, Loop loop) {
  switch (length) {
    case 1: return loop(Exactly<1>{});
    case 2: return loop(Exactly<2>{});
    case 4: return loop(Exactly<4>{});
    case 8: return loop(Exactly<8>{});
    case 12: return loop(Exactly<12>{});
    case 16: return loop(Exactly<16>{});
    case 24: return loop(Exactly<24>{});
    case 32: return loop(Exactly<32>{});
    case 64: return loop(Exactly<64>{});
    default: break;
  }
  if (length < 4) return loop(TwoUnits<2>{length});
  if (length < 8) return loop(TwoUnits<4>{length});
  if (length < 16) return loop(TwoUnits<8>{length});
  if (length < 32) return loop(TwoUnits<16>{length});
  if (length <= kLongestByUnits) return loop(Units<32>{length});
  return loop(AnyLength{length});
}

/// The byte `offset` from `memory`, computed as a number: with MPI_BOTTOM, `memory` is null and offsets are addresses.
const byte* at(const void* memory, int64_t offset) {
  auto address = reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(offset);
  return reinterpret_cast<const byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}
byte* at(void* memory, int64_t offset) { return const_cast<byte*>(at(static_cast<const void*>(memory), offset)); }

int64_t place_of(const Run& run, int64_t piece) { return run.offset + piece * run.stride; }
int64_t place_of(const ListRun& list, int64_t piece) { return list.base + list.displacements[piece]; }

#if defined(__SSE2__)
/// Copies past the cache what is too large to be found in it again: that spares reading every line before it is
/// overwritten, a third of the memory traffic. `length` is a multiple of 16 and `to` aligned to it.
struct Streamed {
  int64_t length;
  void operator()(byte* to, const byte* from) const {
    for (int64_t i = 0; i < length; i += 16) {
      __m128i unit = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), unit);
    }
  }
};

constexpr int64_t kStreamedFrom = 2 << 20;  // bytes of a run: more than a core's own cache

/// True when the pieces of a run may be streamed to `first` and on: they begin and end on whole cache lines, so that no
/// line is flushed half filled. (Only for scattering: what is gathered is a buffer that the program will use next.)
bool may_stream(const Run& run, const void* first) {
  constexpr uintptr_t kLine = 64;
  auto bits = reinterpret_cast<uintptr_t>(first) | static_cast<uintptr_t>(run.length) | static_cast<uintptr_t>(run.stride);
  return run.bytes() >= kStreamedFrom && bits % kLine == 0;
}
#endif

template <class Pieces>
void gather(const Pieces& pieces, const void* memory, byte* packed) {
  with_copy_of(pieces.length, [&](auto copy) {
    for (int64_t i = 0; i < pieces.count; ++i) copy(packed + i * pieces.length, at(memory, place_of(pieces, i)));
  });
}

template <class Pieces>
void scatter(const Pieces& pieces, void* memory, const byte* packed) {
  with_copy_of(pieces.length, [&](auto copy) {
    for (int64_t i = 0; i < pieces.count; ++i) copy(at(memory, place_of(pieces, i)), packed + i * pieces.length);
  });
}

}  // namespace

void gather_run(const Run& run, const void* memory, void* packed) { gather(run, memory, static_cast<byte*>(packed)); }

void scatter_run(const Run& run, void* memory, const void* packed) {
#if defined(__SSE2__)
  if (may_stream(run, at(memory, run.offset))) {
    for (int64_t i = 0; i < run.count; ++i)
      Streamed{run.length}(at(memory, place_of(run, i)), static_cast<const byte*>(packed) + i * run.length);
    _mm_sfence();
    return;
  }
#endif
  scatter(run, memory, static_cast<const byte*>(packed));
}

void pack(const Tiling& tiling, const void* memory, int64_t begin, int64_t size, void* packed) {
  Walker walker(tiling, begin, begin + size);
  auto* to = static_cast<byte*>(packed);
  for (;;) {
    Run run;
    ListRun list;
    if (walker.fetch_list(&list)) {
      gather(list, memory, to);
      to += list.count * list.length;
    } else if (walker.fetch(&run)) {
      gather(run, memory, to);
      to += run.bytes();
    } else {
      return;
    }
  }
}

void unpack(const Tiling& tiling, void* memory, int64_t begin, int64_t size, const void* packed) {
  Walker walker(tiling, begin, begin + size);
  auto* from = static_cast<const byte*>(packed);
  for (;;) {
    Run run;
    ListRun list;
    if (walker.fetch_list(&list)) {
      scatter(list, memory, from);
      from += list.count * list.length;
    } else if (walker.fetch(&run)) {
      scatter_run(run, memory, from);
      from += run.bytes();
    } else {
      return;
    }
  }
}

}  // namespace suiro
