// experiment.binpb: an experiment's result in protobuf, in the form of sim/proto/experiment.proto.
// Protobuf stays inside experiment_file.cc.
#ifndef BATCHVAR_SIM_IO_EXPERIMENT_FILE_H_
#define BATCHVAR_SIM_IO_EXPERIMENT_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "sim/divergence/experiment_result.h"

namespace batchvar {

// `producer` is the program and its version. Equal results have equal bytes.
std::string ExperimentBytes(const ExperimentResult& result, const std::string& producer);

// Of a decision only the token and the margin are kept: its `top_logit` is the margin, the other
// logit 0. A file that is none of ours is an InputError.
absl::StatusOr<ExperimentResult> ReadExperimentFile(const std::string& path);

}  // namespace batchvar

#endif  // BATCHVAR_SIM_IO_EXPERIMENT_FILE_H_
