// One work-item computes one element of the result. float32, any strides, 64-bit sizes.

// Up to three tensors in one loop, as in operators.cpp: the sizes, and each tensor's offset in its buffer and strides,
// in elements.
typedef struct {
    long rank, numel;
    long sizes[8];
    long offsets[3];
    long strides[3][8];
} Layout;

// The offset in tensor k of the element whose row-major index is i.
long at(const Layout* l, int k, long i) {
    long place = l->offsets[k];
    for (long dim = l->rank - 1; dim >= 0; --dim) {
        place += i % l->sizes[dim] * l->strides[k][dim];
        i /= l->sizes[dim];
    }
    return place;
}

kernel void add(global float* out, global const float* a, global const float* b, Layout l, float alpha) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)] + alpha * b[at(&l, 2, i)];
}

kernel void add_scalar(global float* out, global const float* a, Layout l, float b) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)] + b;
}

kernel void mul(global float* out, global const float* a, global const float* b, Layout l) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)] * b[at(&l, 2, i)];
}

kernel void mul_scalar(global float* out, global const float* a, Layout l, float b) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)] * b;
}

// NaN if either operand is NaN.
kernel void maximum(global float* out, global const float* a, global const float* b, Layout l) {
    const long i = get_global_id(0);
    if (i >= l.numel) return;
    const float x = a[at(&l, 1, i)], y = b[at(&l, 2, i)];
    out[at(&l, 0, i)] = x > y || isnan(x) ? x : y;
}

kernel void neg(global float* out, global const float* a, Layout l) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = -a[at(&l, 1, i)];
}

kernel void exponential(global float* out, global const float* a, Layout l) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = exp(a[at(&l, 1, i)]);
}

kernel void copy(global float* out, global const float* a, Layout l) {
    const long i = get_global_id(0);
    if (i < l.numel) out[at(&l, 0, i)] = a[at(&l, 1, i)];
}

// `part` is the layout of the input elements of one result, relative to the first of them. Their sum is compensated.
kernel void sum(global float* out, global const float* a, Layout l, Layout part) {
    const long i = get_global_id(0);
    if (i >= l.numel) return;
    global const float* first = a + at(&l, 1, i);
    float total = 0, lost = 0;
    for (long j = 0; j < part.numel; ++j) {
        const float x = first[at(&part, 0, j)], next = total + x;
        lost += fabs(total) >= fabs(x) ? (total - next) + x : (x - next) + total;
        total = next;
    }
    out[at(&l, 0, i)] = isfinite(total) ? total + lost : total;
}

// Each result is the product of a row of a and a column of b, both of `length` elements.
kernel void mm(global float* out, global const float* a, global const float* b, Layout l, long length, long step_a,
               long step_b) {
    const long i = get_global_id(0);
    if (i >= l.numel) return;
    const long row = at(&l, 1, i), column = at(&l, 2, i);
    float total = 0;
    for (long k = 0; k < length; ++k) total = fma(a[row + k * step_a], b[column + k * step_b], total);
    out[at(&l, 0, i)] = total;
}
