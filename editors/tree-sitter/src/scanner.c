// What a grammar without memory cannot say of a text: whether a newline ends something, whether `-[` begins a hop,
// whether a word is a name. The rules are those of `src/lang/syntax/scan` and of `as_name` in
// `grammar/movement.pest`; which brackets are open is what the parser expects, so nothing is kept between two calls.

#include "tree_sitter/parser.h"

#include <string.h>

enum Token { NEWLINE, IDENTIFIER, HOP_OPEN, BLOCK_OPEN, CALL_OPEN, SAME_LINE, LOST };

void *tree_sitter_movement_external_scanner_create(void) { return NULL; }
void tree_sitter_movement_external_scanner_destroy(void *payload) { (void)payload; }
unsigned tree_sitter_movement_external_scanner_serialize(void *payload, char *buffer) {
  (void)payload;
  (void)buffer;
  return 0;
}
void tree_sitter_movement_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  (void)payload;
  (void)buffer;
  (void)length;
}

static bool in_word(int32_t letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_';
}

static bool blank(int32_t letter) { return letter == ' ' || letter == '\t' || letter == '\r'; }

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

// The longest word that goes on with the line before has four letters.
enum { WORD_ROOM = 6 };

// Reads a word; what does not fit is counted but not kept.
static void read_word(TSLexer *lexer, char word[WORD_ROOM]) {
  unsigned length = 0;
  while (in_word(lexer->lookahead)) {
    if (length < WORD_ROOM - 1) word[length] = (char)lexer->lookahead;
    length++;
    advance(lexer);
  }
  word[length < WORD_ROOM ? length : 0] = 0;
}

// `=`, `.` or `:` after a word, and before an entry's value `?:` and `+:`.
static bool names(TSLexer *lexer) {
  while (lexer->lookahead == ' ' || lexer->lookahead == '\t') advance(lexer);
  switch (lexer->lookahead) {
    case '=':
      advance(lexer);
      return lexer->lookahead != '=' && lexer->lookahead != '>';
    case '.':
      advance(lexer);
      return lexer->lookahead != '.';
    case ':':
      return true;
    case '?':
    case '+':
      advance(lexer);
      return lexer->lookahead == ':';
    default:
      return false;
  }
}

// Whether what begins here goes on with the line before.
static bool continues(TSLexer *lexer) {
  static const char *const WORDS[] = {"AND", "OR", "THEN", "ELSE", "END", "else", "fire"};
  if (lexer->lookahead == '.') {
    advance(lexer);
    return lexer->lookahead != '.';
  }
  if (!in_word(lexer->lookahead)) return false;
  char word[WORD_ROOM];
  read_word(lexer, word);
  for (unsigned place = 0; place < sizeof WORDS / sizeof *WORDS; place++) {
    if (strcmp(word, WORDS[place]) == 0) return !names(lexer);
  }
  return false;
}

// `[` behind `-`, and whether what follows is `:`, or a name and `:`.
static bool hop(TSLexer *lexer) {
  if (lexer->lookahead != '[') return false;
  advance(lexer);
  lexer->mark_end(lexer);
  while (blank(lexer->lookahead) || lexer->lookahead == '\n') advance(lexer);
  if (lexer->lookahead == '`') {
    do advance(lexer);
    while (lexer->lookahead != '`' && lexer->lookahead != '\n' && !lexer->eof(lexer));
    if (lexer->lookahead != '`') return false;
    advance(lexer);
  } else {
    while (in_word(lexer->lookahead)) advance(lexer);
  }
  while (blank(lexer->lookahead) || lexer->lookahead == '\n') advance(lexer);
  return lexer->lookahead == ':';
}

// From a newline, which the token holds, to the next sign: it ends something unless that sign goes on. A hop that goes
// on is read at once.
static bool newline(TSLexer *lexer, const bool *valid) {
  lexer->advance(lexer, true);
  lexer->mark_end(lexer);
  lexer->result_symbol = NEWLINE;
  bool commented = false;
  for (;;) {
    if (blank(lexer->lookahead) || lexer->lookahead == '\n') {
      lexer->advance(lexer, !commented);
    } else if (lexer->lookahead == '/') {
      commented = true;
      advance(lexer);
      if (lexer->lookahead != '/') return true;
      while (lexer->lookahead != '\n' && !lexer->eof(lexer)) advance(lexer);
    } else if (lexer->lookahead == '-') {
      advance(lexer);
      if (lexer->lookahead != '[') return true;
      if (commented || !valid[HOP_OPEN]) return false;
      lexer->result_symbol = HOP_OPEN;
      return hop(lexer);
    } else {
      return lexer->eof(lexer) || !continues(lexer);
    }
  }
}

bool tree_sitter_movement_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  (void)payload;
  while (blank(lexer->lookahead)) lexer->advance(lexer, true);
  if (valid[SAME_LINE] && !valid[LOST]) {
    lexer->mark_end(lexer);
    lexer->result_symbol = SAME_LINE;
    if (lexer->lookahead != '/') return lexer->lookahead != '\n';
    // a comment, behind which the line ends
    advance(lexer);
    return lexer->lookahead != '/';
  }
  if (lexer->lookahead == '(' && valid[CALL_OPEN] && !valid[LOST]) {
    advance(lexer);
    lexer->mark_end(lexer);
    lexer->result_symbol = CALL_OPEN;
    return true;
  }
  if (lexer->lookahead == '\n' && valid[NEWLINE]) {
    return newline(lexer, valid);
  }
  while (blank(lexer->lookahead) || lexer->lookahead == '\n') lexer->advance(lexer, true);
  if (lexer->lookahead == '-' && valid[HOP_OPEN]) {
    advance(lexer);
    lexer->result_symbol = HOP_OPEN;
    return hop(lexer);
  }
  if (lexer->lookahead == '{' && valid[BLOCK_OPEN] && !valid[LOST]) {
    advance(lexer);
    lexer->mark_end(lexer);
    lexer->result_symbol = BLOCK_OPEN;
    return true;
  }
  if (valid[IDENTIFIER] && !valid[LOST] && in_word(lexer->lookahead) &&
      !(lexer->lookahead >= '0' && lexer->lookahead <= '9')) {
    while (in_word(lexer->lookahead)) advance(lexer);
    lexer->mark_end(lexer);
    lexer->result_symbol = IDENTIFIER;
    return names(lexer);
  }
  return false;
}
