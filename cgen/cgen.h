#pragma once

// Everything of cgen that a program needs: trees, builders, checks, printing.
#include "rtcg/cgen/ast/compare.h"
#include "rtcg/cgen/ast/expr_operators.h"
#include "rtcg/cgen/ast/module.h"
#include "rtcg/cgen/ast/traverse.h"
#include "rtcg/cgen/build/block_builder.h"
#include "rtcg/cgen/build/cluster.h"
#include "rtcg/cgen/build/fresh_names.h"
#include "rtcg/cgen/build/share_values.h"
#include "rtcg/cgen/build/struct_builder.h"
#include "rtcg/cgen/check/check_names.h"
#include "rtcg/cgen/check/check_types.h"
#include "rtcg/cgen/dialect/dialect.h"
#include "rtcg/cgen/lower/lower.h"
#include "rtcg/cgen/print/print_module.h"
#include "rtcg/cgen/support/error.h"
