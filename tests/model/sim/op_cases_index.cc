#include <ATen/TensorIndexing.h>

#include "tests/model/sim/op_case.h"

namespace redraft::model::simtest {

std::vector<OpCase> indexCases() {
  return {
      OP("index_select", in.real({6, 4}).index_select(0, in.ints({5}, 6))),
      OP("gather", in.real({6, 4}).gather(1, in.ints({6, 3}, 4))),
      OP("take", in.real({6, 4}).take(in.ints({5}, 24))),
      OP("take_along_dim", at::take_along_dim(in.real({6, 4}), in.ints({6, 2}, 4), 1)),
      OP("index.Tensor", in.real({6, 4}).index({in.ints({5}, 6)})),
      OP("index.Tensor", in.real({6, 4}).index({in.ints({5}, 6), in.ints({5}, 4)})),
      OP("index.Tensor", in.real({6, 4}).index({in.mask({6, 4})})),
      OP("masked_select", in.real({6, 4}).masked_select(in.mask({6, 4}))),
      OP("masked_fill.Scalar", in.real({6, 4}).masked_fill(in.mask({6, 4}), -1)),
      OP("masked_fill.Tensor", in.real({6, 4}).masked_fill(in.mask({6, 4}), in.real({}))),
      OP("masked_scatter", in.real({6, 4}).masked_scatter(in.mask({6, 4}), in.real({24}))),
      OP("scatter.src", in.real({6, 4}).scatter(0, in.permutation(6).view({6, 1}), in.real({6, 1}))),
      OP("scatter.value", in.real({6, 4}).scatter(1, in.ints({6, 1}, 4), 0.5)),
      OP("scatter_add", in.real({6, 4}).scatter_add(0, in.ints({5, 4}, 6), in.real({5, 4}))),
      OP("scatter_reduce.two", in.real({6, 4}).scatter_reduce(0, in.ints({5, 4}, 6), in.real({5, 4}), "mean")),
      OP("index_add", in.real({6, 4}).index_add(0, in.ints({5}, 6), in.real({5, 4}))),
      OP("index_copy", in.real({6, 4}).index_copy(0, in.permutation(6), in.real({6, 4}))),
      OP("index_fill.int_Scalar", in.real({6, 4}).index_fill(0, in.ints({2}, 6), 3)),
      OP("index_reduce", in.real({6, 4}).index_reduce(0, in.ints({5}, 6), in.real({5, 4}), "amax")),
      OP("index_put", in.real({6, 4}).index_put({in.permutation(6)}, in.real({6, 4}))),
      OP("index_put", in.real({6, 4}).index_put({in.ints({5}, 6)}, in.real({5, 4}), true)),
      OP("put", in.real({6, 4}).put(in.permutation(6), in.real({6}))),
      OP("select_scatter", at::select_scatter(in.real({6, 4}), in.real({6}), 1, 2)),
      OP("slice_scatter", at::slice_scatter(in.real({6, 4}), in.real({6, 2}), 1, 1, 3)),
      OP("diagonal_scatter", at::diagonal_scatter(in.real({4, 4}), in.real({4}))),
      OP("embedding", at::embedding(in.real({9, 4}), in.ints({3, 5}, 9))),
      OP("embedding", at::embedding(in.real({9, 4}), in.ints({3, 5}, 9), 2)),
      OP("_embedding_bag",
         at::embedding_bag(in.real({9, 4}), in.ints({8}, 9), at::arange(0, 8, 4, in.options(at::kLong)))),
      OP("repeat_interleave.Tensor", at::repeat_interleave(in.ints({6}, 3))),
      OP("isin.Tensor_Tensor", at::isin(in.ints({9}, 9), in.ints({3}, 9))),
      OP("nonzero_static", at::nonzero_static(in.mask({6, 4}), 5)),
      OP("argwhere", at::argwhere(in.mask({6, 4}))),
  };
}

}  // namespace redraft::model::simtest
