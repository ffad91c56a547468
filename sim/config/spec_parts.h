// ConfigNode -> the typed parts of an ExperimentSpec. Internal to this room; load_experiment.h is
// its door. References are already resolved: each node is a map (or wrong). Errors go to `errors`
// and the value that comes back then is not to be used.
#ifndef BATCHVAR_SIM_CONFIG_SPEC_PARTS_H_
#define BATCHVAR_SIM_CONFIG_SPEC_PARTS_H_

#include <string>

#include "sim/config/config_reader.h"
#include "sim/config/experiment_spec.h"
#include "sim/config/yaml_writer.h"

namespace batchvar {

ModelSpec ReadModel(const ConfigNode& node, FirstError* errors);
DeviceSpec ReadDevice(const ConfigNode& node, FirstError* errors);

// Tile keys of a batch_invariant GEMM that are not given stay 0: they depend on the dtype.
PolicySpec ReadPolicies(const ConfigNode& node, FirstError* errors);
void WritePolicies(const PolicySpec& policies, YamlWriter* out);

// Fills scheduler, gpu_memory_utilization and padding. model, device, tp and dtype of `spec` must
// be right already: defaults and every `auto` follow from them. `place` is where the experiment
// chooses its scheduler: the place of mistakes that no single key makes.
void ReadScheduler(const ConfigNode& node, const SourceMark& place, FirstError* errors,
                   ExperimentSpec* spec);

// The keys of policy sglang: read, then resolved and checked once padding is read too.
void ReadSglangKeys(MapReader* reader, ExperimentSpec* spec);
void ResolveSglang(const SourceMark& place, MapReader* reader, FirstError* errors,
                   ExperimentSpec* spec);
void WriteSglangKeys(const ExperimentSpec& spec, YamlWriter* out);

// `folder` is where relative paths of traces and length files begin.
WorkloadSpec ReadWorkload(const ConfigNode& node, const std::string& folder, FirstError* errors);
ArrivalSpec ReadArrivals(const ConfigNode& node, const std::string& path, FirstError* errors);
LengthSpec ReadLength(const ConfigNode& node, const std::string& path, const std::string& folder,
                      FirstError* errors);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_CONFIG_SPEC_PARTS_H_
