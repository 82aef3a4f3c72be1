#pragma once
// How far apart two runs of one scenario are that cannot be equal: on simulated devices and on a GPU, or on two kinds
// of GPU. What may be expected: docs/goldens.md, "Across classes".

#include <cstdint>
#include <string>
#include <vector>

#include "golden/record.h"

namespace redraft::golden {

/// |a - b| / |a|: 0 where both are equal, infinite where one is not finite or a is 0.
double relativeDistance(double a, double b);

/// ‖g - h‖ / ‖g‖ of two gradients, about: from their sketches (docs/goldens.md, "The sketch").
double sketchDistance(const GradientDigest& g, const GradientDigest& h);

/// Relative distances |a - b| / |a| of one step; 0 where both are 0, infinite where one is not finite.
struct StepDistance {
  std::int64_t step = 0;
  double loss = 0, gradientNorm = 0;
  double l2 = 0;            // largest over the parameters, of their gradients' L2 norms
  std::string l2Parameter;  // whose
  double gradient = 0;      // largest over the parameters of ‖Δ‖ / ‖a‖, about: from the sketches
  std::string gradientParameter;

  double largest() const;  // of the four
};

/// ‖Δ‖ of two gradients, about: from their sketches.
double sketchDifference(const GradientDigest& a, const GradientDigest& b);

/// Of every step that both have. Throws Error(kBadInput) when they are not of one training: other parameters, learning
/// rates or tokens, or no step with gradients.
std::vector<StepDistance> distances(const Record& a, const Record& b);

/// A table, a line a step.
std::string describe(const std::vector<StepDistance>& steps);

}  // namespace redraft::golden
