"""What every kernel in the C dialect begins with: the same names in C++, CUDA and OpenCL.

Compile without contraction: ``-ffp-contract=off`` for C++, ``--fmad=false`` for CUDA; for OpenCL
the pragma is here.
"""

from __future__ import annotations

from typing import Final

PRELUDE: Final = r"""
#if defined(__OPENCL_VERSION__)
#pragma OPENCL FP_CONTRACT OFF
typedef char i8; typedef short i16; typedef int i32; typedef long i64;
typedef uchar u8; typedef ushort u16; typedef uint u32; typedef ulong u64;
typedef float f32; typedef double f64;
#define KERNEL __kernel
#define GLOBAL __global
#define INLINE static
#define THREAD ((i64)get_global_id(0))
#define THREADS ((i64)get_global_size(0))
#define BITS_OF_F32(x) as_int(x)
#define BITS_OF_F64(x) as_long(x)
#define F32_OF_BITS(x) as_float(x)
#define F64_OF_BITS(x) as_double(x)
#define fmaf fma
#define sqrtf sqrt
#define fabsf fabs
#define floorf floor
#define ceilf ceil
#define rintf rint
#define truncf trunc
#define fmodf fmod
#define copysignf copysign
#else
typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32; typedef double f64;
#define GLOBAL
#if defined(__CUDACC__)
#define KERNEL extern "C" __global__
#define INLINE static __device__ __forceinline__
#define THREAD ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define THREADS ((i64)gridDim.x * blockDim.x)
#define BITS_OF_F32(x) __float_as_int(x)
#define BITS_OF_F64(x) __double_as_longlong(x)
#define F32_OF_BITS(x) __int_as_float(x)
#define F64_OF_BITS(x) __longlong_as_double(x)
#else
#include <math.h>
#include <string.h>
#define KERNEL extern "C"
#define INLINE static inline
#define THREAD ((i64)0)
#define THREADS ((i64)1)
INLINE i32 BITS_OF_F32(f32 x) { i32 r; memcpy(&r, &x, 4); return r; }
INLINE i64 BITS_OF_F64(f64 x) { i64 r; memcpy(&r, &x, 8); return r; }
INLINE f32 F32_OF_BITS(i32 x) { f32 r; memcpy(&r, &x, 4); return r; }
INLINE f64 F64_OF_BITS(i64 x) { f64 r; memcpy(&r, &x, 8); return r; }
#endif
#endif

INLINE f32 from_bf16(u16 x) { return F32_OF_BITS((i32)((u32)x << 16)); }

INLINE u16 to_bf16(f32 x) {
  u32 bits = (u32)BITS_OF_F32(x);
  if (x != x) return (u16)((bits >> 16) | 64u);
  return (u16)((bits + 32767u + ((bits >> 16) & 1u)) >> 16);
}

INLINE f32 from_f16(u16 x) {
  u32 sign = ((u32)x & 0x8000u) << 16, exponent = (x >> 10) & 31u, fraction = x & 1023u;
  if (exponent == 31u) return F32_OF_BITS((i32)(sign | 0x7f800000u | (fraction << 13)));
  if (exponent == 0u) {
    f32 small = (f32)fraction * 5.9604644775390625e-8f;
    return F32_OF_BITS((i32)(sign | (u32)BITS_OF_F32(small)));
  }
  return F32_OF_BITS((i32)(sign | ((exponent + 112u) << 23) | (fraction << 13)));
}

INLINE u16 to_f16(f32 x) {
  u32 bits = (u32)BITS_OF_F32(x), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (u16)(sign | 0x7e00u | ((size >> 13) & 1023u));
  if (size >= 0x477ff000u) return (u16)(sign | 0x7c00u);
  if (size < 0x38800000u) {
    f32 steps = rintf(F32_OF_BITS((i32)size) * 16777216.0f);
    return (u16)(sign | (u32)steps);
  }
  return (u16)(sign | ((size - 0x38000000u + 4095u + ((size >> 13) & 1u)) >> 13));
}
"""
