#include "tests/model/sim/op_case.h"

namespace redraft::model::simtest {

std::vector<OpCase> linearCases() {
  return {
      OP("mm", at::mm(in.real({4, 5}), in.real({5, 3}))),
      OP("mm", at::mm(in.bf16({4, 5}), in.bf16({3, 5}).t())),
      OP("bmm", at::bmm(in.real({2, 4, 5}), in.real({2, 5, 3}))),
      OP("addmm", at::addmm(in.real({3}), in.real({4, 5}), in.real({5, 3}), 0.5, 2)),
      OP("baddbmm", at::baddbmm(in.real({2, 4, 3}), in.real({2, 4, 5}), in.real({2, 5, 3}))),
      OP("addbmm", at::addbmm(in.real({4, 3}), in.real({2, 4, 5}), in.real({2, 5, 3}))),
      OP("mv", at::mv(in.real({4, 5}), in.real({5}))),
      OP("addmv", at::addmv(in.real({4}), in.real({4, 5}), in.real({5}))),
      OP("addr", at::addr(in.real({4, 5}), in.real({4}), in.real({5}))),
      OP("dot", at::dot(in.real({5}), in.real({5}))),
      OP("vdot", at::vdot(in.real({5}), in.real({5}))),
      OP("outer", at::outer(in.real({4}), in.real({5}))),
      OP("matmul", at::matmul(in.real({2, 4, 5}), in.real({5, 3}))),
      OP("matmul", at::matmul(in.real({2, 1, 4, 5}), in.real({3, 5, 2}))),
      OP("linear", at::linear(in.real({2, 4, 5}), in.real({3, 5}), in.real({3}))),
      OP("linear", at::linear(in.real({4, 5}), in.real({3, 5}))),
      OP("bilinear", at::bilinear(in.real({4, 5}), in.real({4, 3}), in.real({2, 5, 3}), in.real({2}))),
      OP("einsum", at::einsum("bij,bjk->bik", {in.real({2, 3, 4}), in.real({2, 4, 5})})),
      OP("tensordot", at::tensordot(in.real({3, 4, 5}), in.real({4, 3, 2}), {1, 0}, {0, 1})),
      OP("chain_matmul", at::chain_matmul({in.real({3, 4}), in.real({4, 5}), in.real({5, 2})})),
      OP("kron", at::kron(in.real({2, 3}), in.real({3, 2}))),
      OP("linalg_cross", at::linalg_cross(in.real({4, 3}), in.real({4, 3}))),
      OP("_cdist_forward", at::cdist(in.real({4, 5}), in.real({3, 5}))),
      OP("_pdist_forward", at::pdist(in.real({4, 5}))),
      OP("linalg_matrix_power", at::linalg_matrix_power(in.real({3, 3}), 3)),
      OP("linalg_cholesky_ex", at::linalg_cholesky(in.spd(4))),
      OP("cholesky_solve", at::cholesky_solve(in.real({4, 2}), at::linalg_cholesky(in.spd(4)))),
      OP("linalg_solve_triangular", at::linalg_solve_triangular(in.spd(4).triu(), in.real({4, 2}), true)),
      OP("linalg_inv_ex", at::linalg_inv(in.spd(4))),
      OP("_linalg_solve_ex", at::linalg_solve(in.spd(4), in.real({4, 2}))),
      OP("_linalg_det", at::linalg_det(in.spd(4))),
      OP("_linalg_slogdet", at::linalg_slogdet(in.spd(4))),
      OP("linalg_qr", at::linalg_qr(in.real({4, 3}))),
      OP("_linalg_eigh", at::linalg_eigh(in.spd(4))),
      OP("_linalg_svd", std::get<1>(at::linalg_svd(in.real({4, 3}), false))),
      OP("linalg_lstsq", std::get<0>(at::linalg_lstsq(in.plain({4, 3}), in.plain({4, 2})))),
      OP("linalg_matrix_norm", at::linalg_matrix_norm(in.real({4, 3}))),
      OP("_scaled_dot_product_attention_math",
         at::_scaled_dot_product_attention_math(in.real({1, 2, 4, 8}), in.real({1, 2, 6, 8}), in.real({1, 2, 6, 8}))),
      OP("cosine_similarity", at::cosine_similarity(in.real({4, 5}), in.real({4, 5}))),
      OP("pairwise_distance", at::pairwise_distance(in.real({4, 5}), in.real({4, 5}))),
  };
}

}  // namespace redraft::model::simtest
