/// The groups of benchmarks, one file each. Every benchmark runs ours and a baseline in turn and puts the comparison
/// into counters: `low` and `high` bound the 95% interval, `goal` is the required value.
#pragma once

namespace diopi::bench {

/// Counter `overhead_ns`: nanoseconds per call that boxing adds to a direct C call.
void register_boxing();
/// Counter `ratio`: time of oneDNN called directly / time of the cpu backend.
void register_convolution();
void register_linear();
/// Counter `ratio`: bytes read and written per second by the cpu backend / by memcpy in all threads.
void register_bandwidth();
/// Counter `overhead_ns`: time to start a parallel region. Counter `ratio`: time of an operator in one thread / in two,
/// at the least size that the backend shares.
void register_threads();
/// Counter `ratio`: Google Benchmark's time of a call / the profile's median. Counter `overhead_ns`: the time that the
/// timing interceptor adds to a call.
void register_profile();
/// Counter `load_ms`: time to open a library. Counter `overhead_ns`: additional time of a call through it, compared to
/// the backend that is linked in.
void register_plugin();

}  // namespace diopi::bench
