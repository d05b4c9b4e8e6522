#include "cli/xml.h"

#include <cctype>
#include <stdexcept>

namespace plumb::test {

namespace {

class Parser {
  public:
    explicit Parser(const std::string& text) : text_(text) {}

    Element document() {
        if (starts("<?xml")) at_ = text_.find("?>") + 2;
        blanks();
        Element root = element();
        blanks();
        if (at_ != text_.size()) fail("something follows the root");
        return root;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error("XML at byte " + std::to_string(at_) + ": " + what);
    }
    [[nodiscard]] bool starts(const std::string& part) const {
        return text_.compare(at_, part.size(), part) == 0;
    }
    [[nodiscard]] char peek() const {
        if (at_ >= text_.size()) fail("unexpected end");
        return text_[at_];
    }
    void expect(const std::string& part) {
        if (!starts(part)) fail("expected " + part);
        at_ += part.size();
    }
    void blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
    }
    std::string name() {
        std::string result;
        while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_' || peek() == '-')
            result += text_[at_++];
        if (result.empty()) fail("expected a name");
        return result;
    }
    /// Up to `end`, which is not consumed.
    std::string content(char end) {
        std::string result;
        while (peek() != end) {
            const char c = text_[at_++];
            if (c == '<') fail("'<' in text");
            if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') fail("control character");
            if (c != '&') {
                result += c;
                continue;
            }
            const std::size_t close = text_.find(';', at_);
            if (close == std::string::npos) fail("'&' without ';'");
            result += reference(text_.substr(at_, close - at_));
            at_ = close + 1;
        }
        return result;
    }
    [[nodiscard]] char reference(const std::string& word) const {
        if (word == "amp") return '&';
        if (word == "lt") return '<';
        if (word == "gt") return '>';
        if (word == "quot") return '"';
        if (word == "#10") return '\n';
        if (word == "#9") return '\t';
        fail("unknown reference &" + word + ";");
    }
    Element element() {
        Element result;
        expect("<");
        result.name = name();
        for (blanks(); peek() != '>' && peek() != '/'; blanks()) {
            const std::string key = name();
            expect("=\"");
            if (!result.attributes.emplace(key, content('"')).second) fail("attribute twice: " + key);
            expect("\"");
        }
        if (peek() == '/') {
            expect("/>");
            return result;
        }
        expect(">");
        while (true) {
            result.text += content('<');
            if (starts("</")) break;
            result.children.push_back(element());
        }
        expect("</" + result.name + ">");
        return result;
    }

    const std::string& text_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<const Element*> Element::all(const std::string& wanted) const {
    std::vector<const Element*> found;
    for (const Element& child : children) {
        if (child.name == wanted) found.push_back(&child);
        for (const Element* deeper : child.all(wanted))
            found.push_back(deeper);
    }
    return found;
}

Element parse_xml(const std::string& text) {
    return Parser(text).document();
}

}  // namespace plumb::test
