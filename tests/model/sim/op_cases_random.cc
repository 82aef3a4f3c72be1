#include "tests/model/sim/op_case.h"

namespace redraft::model::simtest {

// The harness seeds the CPU's and the device's default generator alike before each side's call.
std::vector<OpCase> randomCases() {
  return {
      OP("rand", at::rand({4, 5}, in.options())),
      OP("randn", at::randn({4, 5}, in.options())),
      OP("randint", at::randint(9, {4, 5}, in.options(at::kLong))),
      OP("randint.low", at::randint(3, 9, {4, 5}, in.options(at::kLong))),
      OP("randperm", at::randperm(9, in.options(at::kLong))),
      OP("rand_like", at::rand_like(in.plain({4, 5}))),
      OP("randn_like", at::randn_like(in.plain({4, 5}))),
      OP("normal_", at::empty({4, 5}, in.options()).normal_(1, 2)),
      OP("normal.Tensor_float", at::normal(in.plain({4, 5}), 0.5)),
      OP("uniform_", at::empty({4, 5}, in.options()).uniform_(-1, 1)),
      OP("exponential_", at::empty({4, 5}, in.options()).exponential_()),
      OP("cauchy_", at::empty({4, 5}, in.options()).cauchy_()),
      OP("log_normal_", at::empty({4, 5}, in.options()).log_normal_()),
      OP("geometric_", at::empty({4, 5}, in.options()).geometric_(0.3)),
      OP("random_", at::empty({4, 5}, in.options(at::kLong)).random_()),
      OP("random_.from", at::empty({4, 5}, in.options(at::kInt)).random_(3, 17)),
      OP("bernoulli", at::bernoulli(in.positive({4, 5}) / 3)),
      OP("bernoulli_.float", at::empty({4, 5}, in.options()).bernoulli_(0.4)),
      OP("multinomial", at::multinomial(in.positive({2, 9}).detach(), 4)),
      OP("poisson", at::poisson(in.positive({4, 5}))),
      OP("binomial", at::binomial(at::full({4, 5}, 9, in.options()), in.positive({4, 5}).detach() / 3)),
      OP("_standard_gamma", at::_standard_gamma(in.positive({4, 5}))),
      OP("_sample_dirichlet", at::_sample_dirichlet(in.positive({4, 5}).detach())),
      OP("rrelu_with_noise", at::rrelu(in.real({4, 5}), 0.1, 0.3, true)),
      OP("native_dropout", at::native_dropout(in.real({4, 5}), 0.4, true)),
  };
}

}  // namespace redraft::model::simtest
