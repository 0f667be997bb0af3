/// The groups of benchmarks, one file each. Every benchmark runs ours and a baseline in turn and puts the comparison
/// into counters: `low` and `high` bound the 95% interval, `goal` is what is asked of it.
#pragma once

namespace diopi::bench {

/// Counter `overhead_ns`: nanoseconds per call that boxing adds to a direct C call.
void register_boxing();
/// Counter `ratio`: time of oneDNN called directly / time of the cpu backend.
void register_convolution();
void register_linear();
/// Counter `ratio`: bytes read and written per second by the cpu backend / by memcpy.
void register_bandwidth();
/// Counter `ratio`: what Google Benchmark's way to time a call gives / the profile's median. Counter `overhead_ns`:
/// what timing as an interceptor adds to a call.
void register_profile();
/// Counter `load_ms`: what opening a library takes. Counter `overhead_ns`: what a call through it costs more
/// than one of the backend that is linked in.
void register_plugin();

}  // namespace diopi::bench
