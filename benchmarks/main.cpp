#include <benchmark/benchmark.h>
#include <omp.h>

#include <string>

#include "suites.hpp"

int main(int argc, char** argv) {
    diopi::bench::register_boxing();
    diopi::bench::register_convolution();
    diopi::bench::register_linear();
    diopi::bench::register_bandwidth();
    diopi::bench::register_threads();
    diopi::bench::register_profile();
    diopi::bench::register_plugin();
    benchmark::AddCustomContext("openmp_threads", std::to_string(omp_get_max_threads()));
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
