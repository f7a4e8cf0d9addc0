/**
 * Movement for editors: the language of `grammar/movement.pest`, read as it is typed.
 *
 * What must be right here is the shape: `lf-lang` alone says what is wrong with a text. A tree without an error stands
 * for a text that `lf-lang` reads, and the other way round; `check/` asserts that, and lists what is let pass.
 *
 * Newlines, hops and names that are keywords elsewhere are decided in `src/scanner.c`.
 */
/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

/** Entries, each but the last followed by a separator; any number of them may stand together. */
const entries = (rule, separator) =>
  seq(repeat(separator), repeat(seq(rule, repeat1(separator))), optional(rule));

/** A comma or a semicolon: between brackets in which a newline ends nothing. */
const inline = (rule) => entries(rule, choice(',', ';'));

/** What became of the record that a test gives. */
const change = ['created', 'updated', 'deleted'];

/** Keywords only before what follows them there, else names of values. */
const soft = ['connect', 'fails', 'no'];

const named = (words, name) => words.map(word => alias(word, name));

const binary = ($, left, operators, right) =>
  seq(field('left', left), field('operator', operators), field('right', right));

module.exports = grammar({
  name: 'movement',

  word: $ => $.identifier,

  externals: $ => [
    $._newline,
    // a word directly before `=`, `.` or `:`, whatever it is elsewhere
    $.identifier,
    // `-[`, where a hop begins
    $._hop_open,
    // `{` of a block, where a record could stand too
    $._block_open,
    // `(` on the line of the name before it, where a line may end
    $._call_open,
    // nothing: the line has not ended yet
    $._same_line,
    // never valid but while the parser looks for a way out of an error
    $._lost,
  ],

  extras: $ => [/[ \t\r\n\uFEFF]/, $.comment, $.documentation],

  reserved: {
    // what is no name of a value
    values: _ => [
      'AND', 'ASC', 'AS', 'BY', 'CONTAINS', 'DESC', 'ELSE', 'END', 'EXISTS', 'IF', 'IN', 'IS', 'LIMIT', 'NOT', 'ORDER',
      'OR', 'THEN', 'WHERE', 'WITHIN',
    ],
    none: _ => [],
  },

  conflicts: $ => [
    // `(a)` before its `=>`
    [$._value_name, $._word],
  ],

  supertypes: $ => [$.declaration, $.statement, $.expression, $.test_line],

  rules: {
    source_file: $ => entries($.declaration, $._separator),

    _separator: $ => choice($._newline, ';'),
    _entry_separator: $ => choice($._newline, ';', ','),

    documentation: _ => token(prec(1, /\/\/\/([^/\r\n][^\r\n]*)?/)),
    comment: _ => token(/\/\/[^\r\n]*/),

    // ---- names ----

    identifier: _ => /[A-Za-z_][A-Za-z0-9_]*/,
    quoted_identifier: _ => /`[^`\n]+`/,

    _value_name: $ => choice($.identifier, $.quoted_identifier, ...named(soft, $.identifier)),
    _word: $ => reserved('none', choice($.identifier, $.quoted_identifier)),
    _property: $ => reserved('none', choice(
      alias($.identifier, $.property_identifier),
      alias($.quoted_identifier, $.property_identifier),
    )),
    _type: $ => reserved('none', choice(
      alias($.identifier, $.type_identifier),
      alias($.quoted_identifier, $.type_identifier),
    )),
    _function: $ => reserved('none', choice(
      alias($.identifier, $.function_identifier),
      alias($.quoted_identifier, $.function_identifier),
    )),
    _callee: $ => choice(
      alias($.identifier, $.function_identifier),
      alias($.quoted_identifier, $.function_identifier),
      ...named(soft, $.function_identifier),
    ),

    // ---- declarations ----

    declaration: $ => choice($.import, $.connection, $.type_declaration, $.function, $.listen, $.binding, $.test),

    import: $ => seq(
      'import', '{', entries($.imported_name, $._entry_separator), '}', 'from', field('source', $.text),
    ),
    imported_name: $ => seq(field('name', $._word), optional(seq('as', field('alias', $._word)))),

    connection: $ => seq(
      optional('export'),
      field('name', $._word), '=', 'connect', field('module', $._module),
      optional(seq('using', field('credential', $._word))),
      optional($.settings),
    ),
    _module: $ => choice($.module, alias($.quoted_identifier, $.module)),
    module: _ => /#[A-Za-z0-9_]+/,

    settings: $ => seq('{', entries($.setting, $._entry_separator), '}'),
    setting: $ => seq(field('name', $._property), ':', field('value', $.expression)),

    type_declaration: $ => seq(optional('export'), 'type', field('name', $._type), '=', field('type', $.type)),

    function: $ => seq(
      optional('export'), 'function', field('name', $._function),
      field('parameters', $.parameters),
      optional(seq(':', field('returns', $.type))),
      field('body', $.block),
    ),
    parameters: $ => seq('(', inline($.parameter), ')'),
    parameter: $ => seq(field('name', $._word), ':', field('type', $.type)),

    listen: $ => seq(
      'listen', optional(seq('as', field('label', $.text))),
      'to', field('path', $.path),
      optional($.settings),
      'fire', field('function', $._function),
    ),

    binding: $ => seq(optional('export'), field('name', $._word), '=', field('value', $.expression)),

    // ---- tests ----

    test: $ => seq(
      'test', field('name', $.text), optional(seq('at', field('at', $.text))), field('body', $.test_body),
    ),
    test_body: $ => seq('{', entries($.test_line, $._separator), '}'),
    test_line: $ => choice($.given, $.after, $.answer, $.expect),
    given: $ => seq(
      'given', $._same_line, choice(seq(optional(choice(...change)), $.path), alias($.change_path, $.path)), $.record,
      optional(seq('before', $.record)),
    ),
    change_path: $ => seq(field('head', choice(...named(change, $.identifier))), repeat1($.hop)),
    after: $ => seq('after', $._same_line, $.expression),
    answer: $ => seq('answer', $._same_line, $.path, choice($.fails, $.record, $.list)),
    fails: $ => seq('fails', choice($.text, $.number, $.duration)),
    expect: $ => seq('expect', $._same_line, choice(
      seq('no', choice('write', 'delete', 'link', 'unlink'), optional($.path)),
      seq('write', $.path, $.record),
      seq(choice('delete', 'link', 'unlink'), $.path, optional($.record)),
      $.fails,
      $.expression,
    )),

    // ---- types ----

    type: $ => seq('<', $._type_union, '>'),
    _type_union: $ => choice($._type_one, $.union_type),
    union_type: $ => seq($._type_one, repeat1(seq('|', $._type_one))),
    _type_one: $ => choice(
      $._type, alias($.type_path, $.path), $.text, $.record_type, $.parenthesized_type, $.list_type,
    ),
    type_path: $ => seq(field('head', $._word), repeat1($.hop)),
    record_type: $ => seq('{', entries($.field_type, $._entry_separator), '}'),
    field_type: $ => seq(field('name', $._property), ':', field('type', $._type_union)),
    parenthesized_type: $ => seq('(', $._type_union, ')'),
    list_type: $ => seq($._type_one, '[', ']'),

    // ---- paths ----

    path: $ => seq(field('head', $._value_name), repeat1($.hop)),
    hop: $ => seq(
      alias($._hop_open, '-['),
      optional(field('alias', $._word)), ':', field('edge', $._type),
      optional($.where), optional($.order_by), optional($.limit),
      ']->',
    ),
    where: $ => seq('WHERE', $.expression),
    order_by: $ => seq('ORDER', 'BY', $.order_key, repeat(seq(',', $.order_key))),
    order_key: $ => seq($.expression, optional(choice('ASC', 'DESC'))),
    limit: $ => seq('LIMIT', $.number),

    // ---- statements ----

    block: $ => seq(alias($._block_open, '{'), entries($.statement, $._separator), '}'),

    statement: $ => choice(
      $.bind, $.write, $.delete, $.return, $.if, $.await, $.link, $.each, alias($.called, $.call),
      alias($.grouped_call, $.parenthesized_expression),
    ),
    called: $ => seq(field('function', $._callee), field('arguments', alias($.called_with, $.arguments))),
    called_with: $ => seq(alias($._call_open, '('), inline($.argument), ')'),
    grouped_call: $ => seq('(', choice($.call, alias($.grouped_call, $.parenthesized_expression)), ')'),
    bind: $ => seq(field('name', $._word), '=', field('value', choice($.write, $.await, $.expression))),
    write: $ => seq(
      'write', $._same_line, field('target', $._term), field('entries', $.entries),
      optional($.refused),
    ),
    refused: $ => seq('else', '(', field('why', $._word), ')', $.block),
    entries: $ => seq('{', entries($._entry, $._entry_separator), '}'),
    _entry: $ => choice($.unique, $.set, $.fill, $.add, $.spread),
    unique: $ => seq(
      'unique', 'by', '(', $._property, repeat(seq(',', $._property)), optional(','), ')',
    ),
    set: $ => seq(
      field('name', $._property), ':', field('value', $.expression), optional(seq('ELSE', choice('SKIP', 'CLEAR'))),
    ),
    fill: $ => seq(field('name', $._property), '?:', field('value', $.expression)),
    add: $ => seq(field('name', $._property), '+:', field('value', $.expression)),
    spread: $ => seq('...', $.expression),
    delete: $ => seq('delete', $._same_line, field('target', $._term)),
    return: $ => seq('return', optional($.expression)),
    if: $ => seq(
      'if', field('condition', $.expression), $.block,
      repeat(seq('else', 'if', field('condition', $.expression), $.block)),
      optional(seq('else', $.block)),
    ),
    link: $ => seq(choice('link', 'unlink'), $._same_line, field('path', $.path), field('to', $._term)),
    each: $ => seq(field('path', $.path), field('body', $.block)),

    await: $ => seq('await', $._same_line, field('form', $._function), field('arguments', alias($.wait_arguments, $.arguments))),
    wait_arguments: $ => seq(alias($._call_open, '('), inline(alias($.wait_argument, $.argument)), ')'),
    wait_argument: $ => seq(
      optional(seq(field('name', $._property), ':')),
      field('value', choice(alias($.arms, $.list), $.closure, $.expression)),
    ),
    // only a wait takes closures in a list
    arms: $ => seq(
      '[', repeat(choice(',', ';')), $.closure, repeat(seq(repeat1(choice(',', ';')), choice($.closure, $.expression))),
      repeat(choice(',', ';')), ']',
    ),

    // ---- expressions, loosest first ----

    expression: $ => choice(alias($.disjunction, $.binary_expression), $._conjunction),
    disjunction: $ => binary($, $.expression, 'OR', $._conjunction),

    _conjunction: $ => choice(alias($.conjunction, $.binary_expression), $._negation),
    conjunction: $ => binary($, $._conjunction, 'AND', $._negation),

    _negation: $ => choice(alias($.not, $.unary_expression), $._comparison),
    not: $ => seq(field('operator', 'NOT'), field('operand', $._negation)),

    // never a chain
    _comparison: $ => choice(alias($.comparison, $.binary_expression), $.type_test, $._sum),
    comparison: $ => binary(
      $, $._sum, choice('==', '!=', '<', '<=', '>', '>=', 'CONTAINS', 'WITHIN', 'IN'),
      choice($._sum, alias($.not, $.unary_expression)),
    ),
    type_test: $ => seq($._sum, 'IS', field('type', $.type)),

    _sum: $ => choice(alias($.sum, $.binary_expression), $._product),
    sum: $ => binary($, $._sum, choice('+', '-'), $._product),

    _product: $ => choice(alias($.product, $.binary_expression), $._factor),
    product: $ => binary($, $._product, choice('*', '/', '%'), $._factor),

    _factor: $ => choice(alias($.negative, $.unary_expression), $._term),
    negative: $ => seq(field('operator', '-'), field('operand', $._factor)),

    _term: $ => choice($.exists, $._postfix),
    exists: $ => seq('EXISTS', $._postfix),

    _postfix: $ => choice($.member, $.cast, $._primary),
    member: $ => seq(field('object', $._postfix), '.', field('name', $._property)),
    cast: $ => seq(field('value', $._postfix), 'AS', field('type', $.type)),

    _primary: $ => choice(
      $._value_name, $.path, $.call, $.number, $.duration, $.text, $.true, $.false, $.null, $.list, $.record,
      $.parenthesized_expression, $.choice,
    ),

    call: $ => seq(field('function', $._callee), field('arguments', $.arguments)),
    arguments: $ => seq('(', inline($.argument), ')'),
    argument: $ => seq(
      optional(seq(field('name', $._property), ':')), field('value', choice($.closure, $.expression)),
    ),
    closure: $ => seq(field('parameters', $.closure_parameters), '=>', field('body', choice($.block, $.expression))),
    closure_parameters: $ => seq('(', inline($._word), ')'),

    list: $ => seq('[', inline(choice($.spread, $.expression)), ']'),
    record: $ => seq('{', entries(choice($.field, $.spread), $._entry_separator), '}'),
    field: $ => seq(field('name', $._property), ':', field('value', $.expression)),
    parenthesized_expression: $ => seq('(', $.expression, ')'),

    choice: $ => seq(
      'IF', field('condition', $.expression), 'THEN', field('value', $.expression),
      repeat($._otherwise),
      'ELSE', field('value', $.expression), 'END',
    ),
    // an `IF` after `ELSE` goes on; it has no `END` of its own
    _otherwise: $ => prec(1, seq(
      'ELSE', 'IF', field('condition', $.expression), 'THEN', field('value', $.expression),
    )),

    true: _ => 'true',
    false: _ => 'false',
    null: _ => 'null',

    number: _ => /(0|[1-9](_?[0-9])*)(\.[0-9](_?[0-9])*)?([eE][+-]?[0-9]+)?/,
    duration: _ => /([0-9]+(ms|[smhdw]))+/,

    // ---- texts ----

    text: $ => seq('"', repeat(choice(alias($._chars, $.text_content), $.escape, $.interpolation)), token.immediate('"')),
    _chars: _ => choice(token.immediate(prec(1, /[^"\\$]+/)), token.immediate(prec(1, '$'))),
    escape: _ => token.immediate(prec(1, /\\(["\\ntr$]|u\{[^}"\n]*\})/)),
    interpolation: $ => seq(token.immediate(prec(2, '${')), $.expression, '}'),
  },
});
