#include "kernels/decoder/row_plan.h"

#include <utility>

#include "sim/base/check.h"
#include "sim/plan/order_digest.h"

namespace batchvar {

OpOrdersPtr MakeOpOrders(std::vector<OrderStrip> strips) {
  BV_CHECK(!strips.empty());
  auto orders = std::make_shared<OpOrders>();
  orders->klass = ClassOfStrips(strips);
  orders->strips = std::move(strips);
  return orders;
}

OpOrdersPtr MakeOpOrders(const Order& order, int64_t columns) {
  return MakeOpOrders({{{0, columns}, order}});
}

const OpOrders& RowPlan::Of(Op op) const {
  BV_CHECK(Has(op));
  return *ops[static_cast<size_t>(op)];
}

const Order& RowPlan::SingleOrder(Op op) const {
  const OpOrders& orders = Of(op);
  BV_CHECK(orders.strips.size() == 1);
  return orders.strips[0].order;
}

void RowPlan::Finish() {
  Sha256 sha;
  sha.Update("batchvar.row_classes.1");
  for (size_t op = 0; op < kNumOps; ++op) {  // Op counts in execution order
    if (ops[op] == nullptr) continue;
    sha.UpdateU8(static_cast<uint8_t>(op));
    sha.UpdateI64(static_cast<int64_t>(ops[op]->klass.hi));
    sha.UpdateI64(static_cast<int64_t>(ops[op]->klass.lo));
  }
  row_classes = sha.FinishDigest();
}

}  // namespace batchvar
