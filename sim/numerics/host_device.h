// BV_HOST_DEVICE marks the functions that nvcc compiles for the device as well as for the host.
// Everything in sim/numerics that computes bits carries it.
#ifndef BATCHVAR_SIM_NUMERICS_HOST_DEVICE_H_
#define BATCHVAR_SIM_NUMERICS_HOST_DEVICE_H_

#ifdef __CUDACC__
#define BV_HOST_DEVICE __host__ __device__
#else
#define BV_HOST_DEVICE
#endif

#endif  // BATCHVAR_SIM_NUMERICS_HOST_DEVICE_H_
