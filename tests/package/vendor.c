/* One operator of a vendor, in C: it compiles against the installed headers alone. */
#include <diopi/functions.h>

diopiError_t diopiReluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
    int64_t numel = 0;
    void* data = 0;
    (void)ctx;
    diopiError_t error = diopiGetTensorNumel(input, &numel);
    if (error == diopiSuccess) error = diopiGetTensorData(input, &data);
    return error != diopiSuccess ? error : numel >= 0 ? diopiSuccess : diopiErrorOccurred;
}
