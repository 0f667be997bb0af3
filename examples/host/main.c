/* Opens an operator library of the standard, runs one convolution on its device, and checks it against plain loops. */
#include <diopi/functions.h>
#include <dlfcn.h>
#include <stdio.h>

#include "runtime.h"

enum { BATCH = 2, CHANNELS = 3, SIDE = 16, FILTERS = 4, KERNEL = 3, PADDING = 1, OUT = SIDE };

static float input[BATCH][CHANNELS][SIDE][SIDE], weight[FILTERS][CHANNELS][KERNEL][KERNEL], bias[FILTERS];
static float result[BATCH][FILTERS][OUT][OUT];

/* Stores the library's function of that name in a function pointer; prints its name if it is missing. */
static bool find(void* library, const char* path, const char* name, void* function) {
    *(void**)function = dlsym(library, name);
    if (*(void**)function != NULL) return true;
    fprintf(stderr, "host: %s has no %s; `diopi report --audit %s` lists what it has\n", path, name, path);
    return false;
}

static bool find_device(void* library, const char* path, struct device* device) {
    return find(library, path, "device_malloc", &device->allocate) &&
           find(library, path, "device_free", &device->release) &&
           find(library, path, "device_memcpy_h2d_async", &device->copy_in) &&
           find(library, path, "device_memcpy_d2h_async", &device->copy_out) &&
           find(library, path, "device_make_stream", &device->make_stream) &&
           find(library, path, "device_destroy_stream", &device->destroy_stream) &&
           find(library, path, "device_synchronize_stream", &device->synchronize);
}

static diopiError_t call_if_there(void* library, const char* name) {
    diopiError_t (*function)(void) = NULL;
    *(void**)&function = dlsym(library, name);
    return function != NULL ? function() : diopiSuccess;
}

/* Small whole numbers: every sum of products is exact in any order. */
static void fill(float* values, size_t count, int seed) {
    for (size_t i = 0; i < count; ++i) values[i] = (float)((int)(i * 7 + seed) % 11 - 5);
}

static float expected(int n, int f, int y, int x) {
    float sum = bias[f];
    for (int c = 0; c < CHANNELS; ++c) {
        for (int i = 0; i < KERNEL; ++i) {
            for (int j = 0; j < KERNEL; ++j) {
                const int row = y + i - PADDING, column = x + j - PADDING;
                if (row < 0 || row >= SIDE || column < 0 || column >= SIDE) continue;
                sum += input[n][c][row][column] * weight[f][c][i][j];
            }
        }
    }
    return sum;
}

static int count_wrong(void) {
    int wrong = 0;
    for (int n = 0; n < BATCH; ++n) {
        for (int f = 0; f < FILTERS; ++f) {
            for (int y = 0; y < OUT; ++y) {
                for (int x = 0; x < OUT; ++x) wrong += result[n][f][y][x] != expected(n, f, y, x);
            }
        }
    }
    return wrong;
}

/* A float32 tensor of the device, filled if `values` is not null. Null on failure. */
static diopiTensorHandle_t tensor(struct diopiContext* ctx, diopiSize_t size, const void* values) {
    diopiTensorHandle_t made = NULL;
    diopiError_t error = diopiRequireTensor(ctx, &made, &size, NULL, diopi_dtype_float32, diopi_device);
    if (error == diopiSuccess && values != NULL) error = write_tensor(ctx, made, values);
    return error == diopiSuccess ? made : NULL;
}

#define SIZE(...) ((diopiSize_t){(const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8})

static diopiError_t convolve(struct diopiContext* ctx, __typeof__(diopiConvolution2d)* convolution) {
    diopiTensorHandle_t in = tensor(ctx, SIZE(BATCH, CHANNELS, SIDE, SIDE), input);
    diopiTensorHandle_t w = tensor(ctx, SIZE(FILTERS, CHANNELS, KERNEL, KERNEL), weight);
    diopiTensorHandle_t b = tensor(ctx, SIZE(FILTERS), bias);
    diopiTensorHandle_t out = tensor(ctx, SIZE(BATCH, FILTERS, OUT, OUT), NULL);
    if (in == NULL || w == NULL || b == NULL || out == NULL) return diopiErrorOccurred;
    const diopiError_t error = convolution(ctx, out, in, w, b, SIZE(1, 1), SIZE(PADDING, PADDING), SIZE(1, 1), 1);
    return error == diopiSuccess ? read_tensor(ctx, out, result) : error;
}

int main(int argc, char** argv) {
    if (argc != 2) return fprintf(stderr, "usage: host PATH/libdiopi_impl.so\n"), 1;
    const char* path = argv[1];
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "host: cannot open it: %s; `diopi report --audit %s` says what it lacks\n", dlerror(), path);
        return 1;
    }
    struct device device;
    struct diopiContext ctx = {&device, NULL, NULL};
    __typeof__(diopiConvolution2d)* convolution = NULL;
    __typeof__(diopiGetVendorName)* vendor = NULL;
    if (!find_device(library, path, &device) || !find(library, path, "diopiConvolution2d", &convolution) ||
        !find(library, path, "diopiGetVendorName", &vendor)) {
        return 1;
    }
    fill(&input[0][0][0][0], sizeof input / sizeof(float), 1);
    fill(&weight[0][0][0][0], sizeof weight / sizeof(float), 2);
    fill(bias, FILTERS, 3);
    diopiError_t error = call_if_there(library, "initLibrary");
    if (error == diopiSuccess) error = device.make_stream(&ctx.stream);
    if (error == diopiSuccess) error = convolve(&ctx, convolution);
    if (error != diopiSuccess) return fprintf(stderr, "host: %s answers with error %d\n", path, error), 1;
    release_tensors(&ctx);
    device.destroy_stream(ctx.stream);
    call_if_there(library, "finalizeLibrary");
    const int wrong = count_wrong(), all = (int)(sizeof result / sizeof(float));
    printf("diopiConvolution2d of %s: %d of %d results are right\n", vendor(), all - wrong, all);
    return wrong == 0 ? 0 : 1;
}
