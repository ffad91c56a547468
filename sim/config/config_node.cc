#include "sim/config/config_node.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <exception>
#include <sstream>
#include <utility>

#include "absl/status/status.h"

namespace batchvar {
namespace {

// yaml-cpp's tag of a plain and of a quoted scalar that has no tag of its own.
constexpr char kPlainTag[] = "?";
constexpr char kQuotedTag[] = "!";

// Builds the tree from the parser's events. An event handler cannot stop the parser, so the first
// error is kept and the rest of the document is read on.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string file) : file_(std::move(file)) {}

  const absl::Status& status() const { return status_; }
  const SourceMark& document_mark() const { return document_mark_; }
  ConfigNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override { document_mark_ = MarkOf(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    ConfigNode node;
    node.mark = MarkOf(mark);
    Add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Fail(mark, "aliases (*name) are not supported; write the value out");
    OnNull(mark, YAML::NullAnchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    ConfigNode node = ConfigNode::Scalar(MarkOf(mark), value);
    node.quoted = tag == kQuotedTag;
    Add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(ConfigNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(ConfigNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A container that is being filled; for a map, the key whose value comes next.
  struct Frame {
    ConfigNode node;
    bool has_key = false;
    ConfigNode key;
  };

  SourceMark MarkOf(const YAML::Mark& mark) const {
    return {file_, mark.line + 1, mark.column + 1};
  }

  void Fail(const YAML::Mark& mark, const std::string& message) {
    if (status_.ok()) status_ = ConfigError(MarkOf(mark).At(""), message);
  }

  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) Fail(mark, "anchors (&name) are not supported");
  }

  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == kPlainTag || tag == kQuotedTag) return;
    Fail(mark, "tags such as '" + tag + "' are not supported");
  }

  void Open(ConfigNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (!open_.empty() && open_.back().node.IsMap() && !open_.back().has_key) {
      Fail(mark, "a key must be plain text");
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.mark = MarkOf(mark);
    open_.push_back(std::move(frame));
  }

  void Close() {
    ConfigNode node = std::move(open_.back().node);
    open_.pop_back();
    Add(std::move(node));
  }

  void Add(ConfigNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = open_.back();
    if (frame.node.IsSequence()) {
      frame.node.items.push_back(std::move(node));
      return;
    }
    if (!frame.has_key) {
      if (status_.ok() && !node.IsScalar()) {
        status_ = ConfigError(node.mark.At(""), "a key must be plain text");
      }
      frame.key = std::move(node);
      frame.has_key = true;
      return;
    }
    // The parser marks an absent value with whatever stands next in the file.
    if (node.IsNull()) node.mark = frame.key.mark;
    frame.node.entries.push_back({frame.key.text, frame.key.mark, std::move(node)});
    frame.has_key = false;
  }

  std::string file_;
  absl::Status status_;
  SourceMark document_mark_;
  ConfigNode root_;
  std::vector<Frame> open_;
};

// yaml-cpp 0.7 takes a final newline for the end of a quoted scalar that was never closed, and so
// swallows every key after the missing quote. Without the newline it reports the missing quote.
std::string WithoutTrailingSpace(const std::string& text) {
  return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
}

absl::Status CheckKeysAreUnique(const ConfigNode& node, const std::string& path) {
  for (size_t i = 0; i < node.items.size(); ++i) {
    const absl::Status status =
        CheckKeysAreUnique(node.items[i], path + "[" + std::to_string(i) + "]");
    if (!status.ok()) return status;
  }
  for (const ConfigEntry& entry : node.entries) {
    const std::string field = path.empty() ? entry.key : path + "." + entry.key;
    const ConfigEntry* first = node.Find(entry.key);
    if (first != &entry) {
      return ConfigError(entry.key_mark.At(field),
                         "given twice; first on line " + std::to_string(first->key_mark.line));
    }
    const absl::Status status = CheckKeysAreUnique(entry.value, field);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

const ConfigEntry* ConfigNode::Find(std::string_view key) const {
  for (const ConfigEntry& entry : entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

ConfigEntry* ConfigNode::Find(std::string_view key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).Find(key));
}

void ConfigNode::Set(const std::string& key, const SourceMark& key_mark, ConfigNode value) {
  ConfigEntry* entry = Find(key);
  if (entry == nullptr) {
    entries.push_back({key, key_mark, std::move(value)});
    return;
  }
  entry->key_mark = key_mark;
  entry->value = std::move(value);
}

ConfigNode ConfigNode::EmptyMap(const SourceMark& mark) {
  ConfigNode node;
  node.kind = Kind::kMap;
  node.mark = mark;
  return node;
}

ConfigNode ConfigNode::Scalar(const SourceMark& mark, const std::string& text) {
  ConfigNode node;
  node.kind = Kind::kScalar;
  node.mark = mark;
  node.text = text;
  return node;
}

ConfigNode ConfigNode::MapWithName(const ConfigNode& name) {
  ConfigNode node = EmptyMap(name.mark);
  node.Set("name", name.mark, name);
  return node;
}

const char* KindName(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull: return "nothing";
    case ConfigNode::Kind::kScalar: return "a single value";
    case ConfigNode::Kind::kSequence: return "a list";
    case ConfigNode::Kind::kMap: return "a map";
  }
  return "?";
}

absl::StatusOr<ConfigNode> ParseYaml(const std::string& text, const std::string& file) {
  TreeBuilder builder(file);
  TreeBuilder second(file);
  // The only place where exceptions can reach this project's code from YAML.
  try {
    std::istringstream in(WithoutTrailingSpace(text));
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return ConfigNode();
    if (parser.HandleNextDocument(second)) {
      return ConfigError(second.document_mark().At(""),
                         "a second document begins here; one file holds one document");
    }
  } catch (const YAML::Exception& error) {
    Location where{file, 0, 0, ""};
    if (!error.mark.is_null()) where = {file, error.mark.line + 1, error.mark.column + 1, ""};
    return ConfigError(where, "not valid YAML: " + error.msg);
  } catch (const std::exception& error) {
    return ConfigError({file, 0, 0, ""}, std::string("not valid YAML: ") + error.what());
  }
  if (!builder.status().ok()) return builder.status();
  ConfigNode root = builder.TakeRoot();
  const absl::Status unique = CheckKeysAreUnique(root, "");
  if (!unique.ok()) return unique;
  return root;
}

}  // namespace batchvar
