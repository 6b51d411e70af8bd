// What describing, seeking, walking and copying cost, per call and per byte. The build and seek times must not depend
// on the number of pieces; compare pack and unpack with BM_Memcpy of the same bytes.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "access/tiling.h"

namespace suiro {
namespace {

Pattern vector_of(int64_t count, int64_t piece) { return *Pattern::Repeat(count, 2 * piece, Pattern::Bytes(piece)); }

/// Blocks of `piece` bytes at irregular distances, about half of the span.
Pattern list_of(int64_t count, int64_t piece) {
  std::mt19937_64 random(1);
  std::vector<int64_t> displacements;
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i) {
    displacements.push_back(at);
    at += piece + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(2 * piece));
  }
  std::vector<int64_t> one = {1};
  return *Pattern::Indexed(one, displacements, piece, Pattern::Bytes(piece));
}

void BM_BuildVector(benchmark::State& state) {
  Pattern eight = Pattern::Bytes(8);
  for (auto _ : state) benchmark::DoNotOptimize(Pattern::Repeat(state.range(0), 16, eight));
}
BENCHMARK(BM_BuildVector)->Arg(1000)->Arg(1000000)->Arg(1000000000);

void BM_BuildSubarray3d(benchmark::State& state) {
  int64_t n = state.range(0);
  for (auto _ : state) {
    Pattern row = Pattern::Bytes(8 * n / 2);
    Pattern plane = *Pattern::Repeat(n / 2, 8 * n, row);
    benchmark::DoNotOptimize(Pattern::Repeat(n / 2, 8 * n * n, plane));
  }
}
BENCHMARK(BM_BuildSubarray3d)->Arg(64)->Arg(4096);

void BM_BuildList(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(list_of(state.range(0), 8));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_BuildList)->Arg(1000)->Arg(1000000);

void seek(benchmark::State& state, const Pattern& pattern) {
  Tiling tiling{pattern, 0, pattern.upper() + 8};
  int64_t begin = 0;
  for (auto _ : state) {
    begin = (begin + int64_t{7654321} * 8) % (1000 * pattern.size());
    Cursor cursor(tiling, begin, begin + 4096);
    Run run;
    cursor.next(&run);
    benchmark::DoNotOptimize(run);
  }
}
void BM_SeekVector(benchmark::State& state) { seek(state, vector_of(state.range(0), 8)); }
BENCHMARK(BM_SeekVector)->Arg(1000)->Arg(1000000)->Arg(1000000000);
void BM_SeekNest(benchmark::State& state) { seek(state, *Pattern::Repeat(state.range(0), 1 << 20, vector_of(100, 8))); }
BENCHMARK(BM_SeekNest)->Arg(1000)->Arg(1000000);
void BM_SeekList(benchmark::State& state) { seek(state, list_of(state.range(0), 8)); }
BENCHMARK(BM_SeekList)->Arg(1000)->Arg(1000000);

/// Walks 64 MiB of data and looks at every piece, as a caller that makes I/O vectors would.
void walk(benchmark::State& state, const Pattern& pattern) {
  Tiling tiling{pattern, 0, pattern.upper() + 8};
  constexpr int64_t kData = 64 << 20;
  for (auto _ : state) {
    Cursor cursor(tiling, 0, kData);
    int64_t sum = 0;
    for (Run run; cursor.next(&run);) {
      for (int64_t i = 0; i < run.count; ++i) sum ^= run.offset + i * run.stride;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * kData);
}
void BM_WalkVector(benchmark::State& state) { walk(state, vector_of(1000, state.range(0))); }
BENCHMARK(BM_WalkVector)->Arg(8)->Arg(64)->Arg(1024);
void BM_WalkList(benchmark::State& state) { walk(state, list_of(10000, state.range(0))); }
BENCHMARK(BM_WalkList)->Arg(8)->Arg(64)->Arg(1024);
/// Two pieces per tile, the second of which touches the next tile's first.
void BM_WalkJoiningTiles(benchmark::State& state) {
  std::vector<int64_t> places = {0, 2 * state.range(0)};
  std::vector<Pattern> parts = {Pattern::Bytes(state.range(0)), Pattern::Bytes(state.range(0))};
  Tiling tiling{*Pattern::Concat(places, parts), 0, 3 * state.range(0)};
  constexpr int64_t kData = 64 << 20;
  for (auto _ : state) {
    Cursor cursor(tiling, 0, kData);
    int64_t sum = 0;
    for (Run run; cursor.next(&run);) sum ^= run.offset + run.count;
    benchmark::DoNotOptimize(sum);
  }
  state.SetBytesProcessed(state.iterations() * kData);
}
BENCHMARK(BM_WalkJoiningTiles)->Arg(8)->Arg(1024);

constexpr int64_t kCopied = 8 << 20;

void BM_Memcpy(benchmark::State& state) {
  std::vector<char> from(kCopied, 1), to(kCopied, 2);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), kCopied);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kCopied);
}
BENCHMARK(BM_Memcpy);

/// The limit for scattered pieces: one memcpy of constant stride and length per piece, in a plain loop.
void BM_MemcpyLoop(benchmark::State& state) {
  int64_t piece = state.range(0);
  std::vector<char> from(2 * kCopied, 1), to(kCopied, 2);
  for (auto _ : state) {
    for (int64_t i = 0; i < kCopied / piece; ++i) {
      std::memcpy(to.data() + i * piece, from.data() + 2 * i * piece, static_cast<size_t>(piece));
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * kCopied);
}
BENCHMARK(BM_MemcpyLoop)->Arg(8)->Arg(64)->Arg(256)->Arg(1024);

enum class Shape { kVector, kNest, kList };

Tiling tiling_of(Shape shape, int64_t piece) {
  Pattern pattern;
  switch (shape) {
    case Shape::kVector: pattern = vector_of(kCopied / piece, piece); break;
    case Shape::kNest: pattern = *Pattern::Repeat(kCopied / piece / 16, 40 * piece, vector_of(16, piece)); break;
    case Shape::kList: pattern = list_of(kCopied / piece, piece); break;
  }
  return {pattern, 0, pattern.upper()};
}

template <Shape kShape, bool kPack>
void BM_Copy(benchmark::State& state) {
  Tiling tiling = tiling_of(kShape, state.range(0));
  int64_t size = tiling.pattern.size();
  std::vector<char> memory(static_cast<size_t>(tiling.extent), 1), packed(static_cast<size_t>(size), 2);
  for (auto _ : state) {
    if (kPack) {
      pack(tiling, memory.data(), 0, size, packed.data());
    } else {
      unpack(tiling, memory.data(), 0, size, packed.data());
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * size);
}
#define COPY_SIZES Arg(1)->Arg(4)->Arg(8)->Arg(16)->Arg(40)->Arg(64)->Arg(256)->Arg(1024)
BENCHMARK(BM_Copy<Shape::kVector, true>)->COPY_SIZES;
BENCHMARK(BM_Copy<Shape::kVector, false>)->COPY_SIZES;
BENCHMARK(BM_Copy<Shape::kNest, true>)->Arg(8)->Arg(256);
BENCHMARK(BM_Copy<Shape::kNest, false>)->Arg(8)->Arg(256);
BENCHMARK(BM_Copy<Shape::kList, true>)->Arg(8)->Arg(64)->Arg(256);
BENCHMARK(BM_Copy<Shape::kList, false>)->Arg(8)->Arg(64)->Arg(256);

}  // namespace
}  // namespace suiro
