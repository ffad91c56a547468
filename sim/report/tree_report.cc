#include "sim/report/tree_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sim/report/tree_outline.h"

namespace batchvar {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr size_t kMostLines = 60;

Json TreeJson(const SummationTree& tree) {
  if (tree.IsLeaf()) return tree.leaf;
  Json list = Json::array();
  for (const SummationTree& child : tree.children) list.push_back(TreeJson(child));
  return list;
}

const char* OutcomeName(RevealOutcome outcome) {
  switch (outcome) {
    case RevealOutcome::kTree: return "tree";
    case RevealOutcome::kOrderFree: return "order_free";
    case RevealOutcome::kInconsistent: return "inconsistent";
  }
  return "?";
}

void AddCase(const TreeCase& one, Json* json) {
  if (one.m > 0) (*json)["m"] = one.m;
  const RevealedSum& revealed = one.revealed;
  (*json)["outcome"] = OutcomeName(revealed.outcome);
  (*json)["tree"] =
      revealed.outcome == RevealOutcome::kInconsistent ? Json() : TreeJson(revealed.tree);
  (*json)["matches_plan"] = one.planned.has_value() ? Json(one.MatchesPlan()) : Json();
  if (one.planned.has_value() && !one.MatchesPlan()) (*json)["plan_tree"] = TreeJson(*one.planned);
  (*json)["probes"] = revealed.probes;
}

bool AllEqual(const TreeReport& report) {
  return std::all_of(report.cases.begin(), report.cases.end(),
                     [&report](const TreeCase& one) { return one.SameTree(report.cases.front()); });
}

std::string Head(const TreeReport& report) {
  std::string text =
      absl::StrCat(report.implementation, report.library.empty() ? "" : " (" + report.library + ")",
                   ": ", report.element, "\n");
  if (!report.policy.empty()) {
    absl::StrAppend(&text, "plan of ", report.policy,
                    report.device.empty() ? "" : " on " + report.device, "\n");
  }
  const bool all = std::ssize(report.places) == report.extent;
  absl::StrAppend(&text, all ? "all " : absl::StrCat(report.places.size(), " of "), report.extent,
                  " terms probed, named by ", report.summed, "\n");
  return text;
}

std::string Verdict(const TreeCase& one) {
  if (!one.planned.has_value()) return "";
  return one.MatchesPlan() ? "the tree of its plan" : "NOT the tree of its plan";
}

std::string Outline(const SummationTree& tree, const std::vector<int64_t>& places) {
  const std::vector<std::string> lines = TreeOutline(tree, places);
  std::string text;
  for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) {
    absl::StrAppend(&text, "  ", lines[i], "\n");
  }
  if (lines.size() > kMostLines) {
    absl::StrAppend(&text, "  ... ", lines.size() - kMostLines, " more lines; --json has all\n");
  }
  return text;
}

std::string TreeLines(const TreeCase& one, const TreeReport& report) {
  const RevealedSum& revealed = one.revealed;
  if (revealed.outcome != RevealOutcome::kInconsistent) {
    return Outline(revealed.tree, report.places);
  }
  return absl::StrCat("  no tree: large terms at ", report.places[revealed.first], " and ",
                      report.places[revealed.second], " leave ", revealed.answer,
                      " units, which fits no tree\n");
}

std::string CaseText(const TreeReport& report, size_t i) {
  const TreeCase& one = report.cases[i];
  std::string words = Verdict(one);
  const auto same =
      std::find_if(report.cases.begin(), report.cases.begin() + static_cast<int64_t>(i),
                   [&one](const TreeCase& other) { return one.SameTree(other); });
  const bool shown = same == report.cases.begin() + static_cast<int64_t>(i);
  if (!shown) {
    absl::StrAppend(&words, words.empty() ? "" : "; ", "as at M = ", same->m);
  } else if (i > 0) {
    absl::StrAppend(&words, words.empty() ? "" : "; ", "another tree");
  }
  std::string text = one.m > 0 ? absl::StrCat("\nM = ", one.m) : "\n";
  if (!words.empty()) absl::StrAppend(&text, one.m > 0 ? ": " : "", words);
  if (one.m > 0 || !words.empty()) text += "\n";
  if (shown) text += TreeLines(one, report);
  if (shown && one.planned.has_value() && !one.MatchesPlan()) {
    absl::StrAppend(&text, "its plan\n", Outline(*one.planned, report.places));
  }
  return text;
}

}  // namespace

Json TreeReportJson(const TreeReport& report) {
  Json json = {{"schema_version", kSchemaVersion}, {"kind", "tree"}, {"op", report.op}};
  json["implementation"] = report.implementation;
  if (!report.library.empty()) json["library"] = report.library;
  if (!report.policy.empty()) json["policy"] = report.policy;
  if (!report.device.empty()) json["device"] = report.device;
  json["element"] = report.element;
  json["extent"] = report.extent;
  json["n"] = report.places.size();
  json["places"] = report.places;
  AddCase(report.cases.front(), &json);
  if (report.cases.size() > 1) {
    json["equal"] = AllEqual(report);
    json["by_m"] = Json::array();
    for (const TreeCase& one : report.cases) {
      Json entry;
      AddCase(one, &entry);
      json["by_m"].push_back(std::move(entry));
    }
  }
  return json;
}

std::string TreeReportText(const TreeReport& report) {
  std::string text = Head(report);
  for (size_t i = 0; i < report.cases.size(); ++i) absl::StrAppend(&text, CaseText(report, i));
  if (report.cases.size() > 1) {
    absl::StrAppend(&text, AllEqual(report) ? "\nOne tree for every M asked for.\n"
                                            : "\nThe tree depends on M.\n");
  }
  absl::StrAppend(
      &text,
      "\n(a..b) is one fused sum, a..b one term after another; x -> y adds y to the sum "
      "so far\n");
  return text;
}

}  // namespace batchvar
