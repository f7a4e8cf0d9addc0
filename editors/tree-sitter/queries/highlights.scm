; Each piece of a text is captured once, so that it does not matter which of two patterns an editor prefers.

(comment) @comment
(documentation) @comment.documentation

; ---- words ----

["import" "from" "export"] @keyword.import
["function" "type"] @keyword.function
["if" "else" "IF" "THEN" "ELSE" "END"] @keyword.conditional
"return" @keyword.return
"await" @keyword.coroutine
[
  "connect" "using" "as" "listen" "to" "fire"
  "write" "unique" "by" "link" "unlink" "delete"
  "test" "at" "given" "created" "updated" "deleted" "before" "after" "answer" "expect" "fails" "no"
] @keyword
[
  "AND" "OR" "NOT" "IN" "CONTAINS" "IS" "AS" "EXISTS" "WITHIN"
  "WHERE" "ORDER" "BY" "ASC" "DESC" "LIMIT" "SKIP" "CLEAR"
] @keyword.operator

; ---- names ----

[(identifier) (quoted_identifier)] @variable
(property_identifier) @property
(type_identifier) @type
(module) @module
((function_identifier) @function
  (#not-match? @function "^[A-Z][A-Z_]*$"))
((function_identifier) @function.builtin
  (#match? @function.builtin "^[A-Z][A-Z_]*$"))

; ---- values ----

[(true) (false)] @boolean
(null) @constant.builtin
(number) @number
(duration) @number
(text "\"" @string)
(text_content) @string
(escape) @string.escape
(interpolation ["${" "}"] @punctuation.special)

; ---- signs ----

[
  "==" "!=" "<=" ">=" "+" "-" "*" "/" "%" "=" "=>" "|" "..." "?:" "+:" "-[" "]->"
] @operator
(binary_expression operator: ["<" ">"] @operator)
(type ["<" ">"] @punctuation.bracket)
["(" ")" "[" "]"] @punctuation.bracket
; not the brace that ends an interpolation
(_ "{" @punctuation.bracket "}" @punctuation.bracket)
["," ";" ":" "."] @punctuation.delimiter
