#pragma once

#include <map>
#include <string>
#include <vector>

namespace plumb::test {

/// An element of an XML document.
struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string text;
    std::vector<Element> children;

    /// All elements below of this name.
    [[nodiscard]] std::vector<const Element*> all(const std::string& wanted) const;
};

/// As much of XML as a well-formed report may use: a declaration, elements, attributes in double quotes, the
/// named and decimal character references. Throws std::runtime_error for anything that is not well-formed.
Element parse_xml(const std::string& text);

}  // namespace plumb::test
