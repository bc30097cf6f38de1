/* The only file that calls libclang. */
#include "translate/tool/syntax.h"

#include <clang-c/Index.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 4096, DEEPEST = 1200, LONGEST_NAME = 4000 };

struct parse_entry {
    CXCursor cursor;
    struct symbol *symbol;
    struct parse_entry *next;
};

struct parse {
    struct syntax *syntax;
    CXTranslationUnit unit;
    CXFile file;
    struct parse_entry *entries[BUCKETS];
    struct syntax_function **last;
};

/* The visitor's state: the node whose children it sees. */
struct visit {
    struct parse *parse;
    struct syntax_node *parent;
    struct syntax_node **link;
    unsigned depth;
};

static const char *keep(CXString string)
{
    const char *text = clang_getCString(string);
    char *copy = text_copy(text ? text : "", text ? strlen(text) : 0);

    clang_disposeString(string);
    return copy;
}

static struct symbol *known(struct parse *parse, CXCursor cursor)
{
    struct parse_entry *entry = parse->entries[clang_hashCursor(cursor) % BUCKETS];

    while (entry && !clang_equalCursors(entry->cursor, cursor))
        entry = entry->next;
    return entry ? entry->symbol : NULL;
}

static struct symbol *enter(struct parse *parse, CXCursor cursor, enum symbol_kind kind)
{
    struct parse_entry **bucket = &parse->entries[clang_hashCursor(cursor) % BUCKETS];
    struct parse_entry *entry = text_alloc(1, sizeof *entry);

    entry->cursor = cursor;
    entry->symbol = text_alloc(1, sizeof *entry->symbol);
    entry->symbol->kind = kind;
    entry->symbol->name = keep(clang_getCursorSpelling(cursor));
    entry->next = *bucket;
    *bucket = entry;
    return entry->symbol;
}

/*
 * The address space named in the qualifiers of one value: the whole spelling, or the part after a
 * pointer's last *.
 */
static enum address_space space_in(const char *qualifiers)
{
    static const struct {
        const char *word;
        enum address_space space;
    } words[] = {{"__global", SPACE_GLOBAL},
                 {"__local", SPACE_LOCAL},
                 {"__constant", SPACE_CONSTANT},
                 {"__generic", SPACE_GENERIC}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(qualifiers, words[i].word))
            return words[i].space;
    return SPACE_PRIVATE;
}

static bool is_array(CXType type)
{
    return type.kind == CXType_ConstantArray || type.kind == CXType_IncompleteArray ||
           type.kind == CXType_VariableArray;
}

/* Of a pointer, or of an array (which may hold pointers): the text after the last *. */
static const char *own_qualifiers(CXType type, const char *spelling)
{
    const char *star = strrchr(spelling, '*');

    return (type.kind == CXType_Pointer || is_array(type)) && star ? star + 1 : spelling;
}

static void describe_pointee(CXType pointee, struct type *type)
{
    const char *spelling = keep(clang_getTypeSpelling(pointee));
    const char *qualifiers = own_qualifiers(pointee, spelling);

    type->pointer = true;
    type->pointee_space = space_in(qualifiers);
    type->pointee_const = clang_isConstQualifiedType(pointee);
}

static struct type type_of(CXType raw)
{
    CXType type = clang_getCanonicalType(raw);
    struct type result = {.spelling = keep(clang_getTypeSpelling(type))};
    const char *own = own_qualifiers(type, result.spelling);
    long long size = clang_Type_getSizeOf(type);

    result.space = space_in(own);
    result.is_volatile = strstr(own, "volatile");
    result.is_const = strstr(own, "const ") || clang_isConstQualifiedType(type);
    result.size = size > 0 && size < UINT32_MAX ? (uint32_t)size : 0;
    if (type.kind == CXType_Pointer)
        describe_pointee(clang_getPointeeType(type), &result);
    return result;
}

/* `int p[4]` as a parameter is a pointer, but libclang shows it as written. */
static struct type type_of_param(CXType raw)
{
    CXType type = clang_getCanonicalType(raw);
    struct type result = type_of(raw);

    if (is_array(type)) {
        describe_pointee(clang_getArrayElementType(type), &result);
        result.space = SPACE_PRIVATE;
        result.is_volatile = false;
    }
    return result;
}

static bool place(struct parse *parse, CXSourceLocation location, uint32_t *ret_offset)
{
    CXFile file;
    unsigned offset;

    clang_getSpellingLocation(location, &file, NULL, NULL, &offset);
    *ret_offset = offset;
    return file && clang_File_isEqual(file, parse->file);
}

static enum syntax_kind kind_of(enum CXCursorKind kind, char op[4])
{
    static const struct {
        enum CXCursorKind clang;
        enum syntax_kind kind;
        char op;
    } rows[] = {{CXCursor_FunctionDecl, NODE_FUNCTION, 0},
                {CXCursor_ParmDecl, NODE_PARAM, 0},
                {CXCursor_VarDecl, NODE_VARIABLE, 0},
                {CXCursor_CallExpr, NODE_CALL, 0},
                {CXCursor_DeclRefExpr, NODE_NAME, 0},
                {CXCursor_MemberRefExpr, NODE_MEMBER, 0},
                {CXCursor_ArraySubscriptExpr, NODE_SUBSCRIPT, 0},
                {CXCursor_UnaryOperator, NODE_UNARY, 0},
                {CXCursor_BinaryOperator, NODE_BINARY, 0},
                {CXCursor_CompoundAssignOperator, NODE_COMPOUND_ASSIGN, 0},
                {CXCursor_ParenExpr, NODE_PAREN, 0},
                {CXCursor_ConditionalOperator, NODE_CONDITIONAL, 0},
                {CXCursor_IfStmt, NODE_IF, 0},
                {CXCursor_SwitchStmt, NODE_SWITCH, 0},
                {CXCursor_ForStmt, NODE_LOOP, 'f'},
                {CXCursor_WhileStmt, NODE_LOOP, 'w'},
                {CXCursor_DoStmt, NODE_LOOP, 'd'},
                {CXCursor_BreakStmt, NODE_JUMP, 'b'},
                {CXCursor_ContinueStmt, NODE_JUMP, 'c'},
                {CXCursor_ReturnStmt, NODE_JUMP, 'r'},
                {CXCursor_GotoStmt, NODE_JUMP, 'g'},
                {CXCursor_IndirectGotoStmt, NODE_JUMP, 'g'},
                {CXCursor_IntegerLiteral, NODE_LITERAL, 0},
                {CXCursor_UnaryExpr, NODE_SIZEOF, 0},
                {CXCursor_GCCAsmStmt, NODE_ASM, 0},
                {CXCursor_MSAsmStmt, NODE_ASM, 0},
                {CXCursor_BlockExpr, NODE_BLOCK, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].clang == kind) {
            op[0] = rows[i].op;
            return rows[i].kind;
        }
    return NODE_OTHER;
}

static bool word_in(const struct syntax *syntax, uint32_t begin, uint32_t end, const char *word)
{
    size_t after;

    for (size_t at = begin; at < end; at = after) {
        at = syntax_token(syntax, at, &after);
        if (after - at == strlen(word) && !memcmp(syntax->text + at, word, after - at))
            return true;
        if (after == at)
            break;
    }
    return false;
}

/*
 * Where the declaration of the function whose name is at `at` begins: after the last ; or } or
 * directive before it.
 */
static uint32_t head_of(const struct syntax *syntax, uint32_t at)
{
    uint32_t head = at;

    while (head && syntax->text[head - 1] != ';' && syntax->text[head - 1] != '}') {
        if (syntax->text[head - 1] == '\n') {
            uint32_t line = head - 1;

            while (line && syntax->text[line - 1] != '\n')
                line--;
            if (syntax->text[line] == '#')
                break;
        }
        head--;
    }
    return head;
}

static struct symbol *enter_function(struct parse *parse, CXCursor cursor, struct syntax_node *node)
{
    CXCursor canonical = clang_getCanonicalCursor(cursor);
    struct symbol *symbol = known(parse, canonical);
    struct declaration *declaration = text_alloc(1, sizeof *declaration);
    uint32_t head = head_of(parse->syntax, node->at);
    struct syntax_function *function;

    if (!symbol) {
        symbol = enter(parse, canonical, SYMBOL_FUNCTION);
        symbol->function = text_alloc(1, sizeof *symbol->function);
        symbol->function->symbol = symbol;
        symbol->type = node->type;
        *parse->last = symbol->function;
        parse->last = &symbol->function->next;
    }
    function = symbol->function;
    function->kernel |= word_in(parse->syntax, head, node->at, "__kernel") ||
                        word_in(parse->syntax, head, node->at, "kernel");
    function->internal |=
        clang_Cursor_getStorageClass(cursor) == CX_SC_Static || clang_Cursor_isFunctionInlined(cursor);
    declaration->at = node->at;
    declaration->next = function->declarations;
    function->declarations = declaration;
    if (clang_isCursorDefinition(cursor)) {
        function->defined = true;
        function->body = node;
    }
    if (function->defined ? function->body == node : !function->params) {
        int n = clang_Cursor_getNumArguments(cursor);

        function->head = head;
        function->n_params = n > 0 ? (uint32_t)n : 0;
        function->params = text_alloc(function->n_params, sizeof(struct symbol *));
    }
    return symbol;
}

static struct symbol *enter_param(struct parse *parse, CXCursor cursor, const struct syntax_node *node)
{
    struct symbol *symbol = enter(parse, cursor, SYMBOL_PARAM);
    const struct syntax_node *parent = node->parent;
    uint32_t index = 0;

    symbol->type = type_of_param(clang_getCursorType(cursor));
    if (!parent || parent->kind != NODE_FUNCTION || !parent->symbol)
        return symbol;
    for (const struct syntax_node *sibling = parent->children; sibling && sibling != node;
         sibling = sibling->next)
        index += sibling->kind == NODE_PARAM;
    symbol->index = index;
    symbol->function = parent->symbol->function;
    if (index < symbol->function->n_params &&
        (!symbol->function->params[index] || symbol->function->body == parent))
        symbol->function->params[index] = symbol;
    return symbol;
}

static struct symbol *use_of(struct parse *parse, CXCursor cursor)
{
    CXCursor target = clang_getCursorReferenced(cursor);
    struct symbol *symbol;

    if (clang_Cursor_isNull(target))
        return NULL;
    if (clang_getCursorKind(target) == CXCursor_FunctionDecl)
        target = clang_getCanonicalCursor(target);
    symbol = known(parse, target);
    if (symbol)
        return symbol;
    if (clang_getCursorKind(target) == CXCursor_FunctionDecl) {
        symbol = enter(parse, target, SYMBOL_BUILTIN);
        symbol->type = type_of(clang_getCursorType(target));
        return symbol;
    }
    return NULL; /* an enumerator, a member */
}

static bool carries_type(enum syntax_kind kind, enum CXCursorKind clang)
{
    return kind <= NODE_COMPOUND_ASSIGN ? kind != NODE_OTHER || clang_isExpression(clang)
                                        : kind == NODE_CONDITIONAL;
}

/*
 * libclang before 17 does not report the operator: it is in the text before the operand, or after
 * the first one.
 */
static void read_operator(const struct syntax *syntax, struct syntax_node *node)
{
    const struct syntax_node *first = node->children;
    size_t at = node->begin;
    size_t n = 1;
    size_t most = 3;
    size_t end;

    if (!first || !node->in_text)
        return;
    if (node->kind != NODE_UNARY || first->begin == node->begin)
        at = syntax_token(syntax, first->end, &end);
    if (at >= syntax->length || !ispunct((unsigned char)syntax->text[at]))
        return;
    if (strchr("+-&|", syntax->text[at]))
        most = 2; /* i+++j is i++ + j, however many follow */
    while (n < most && at + n < syntax->length && strchr("=<>&|+-", syntax->text[at + n]) &&
           syntax->text[at + n] && (syntax->text[at + n] == '=' || syntax->text[at + n] == syntax->text[at]))
        n++;
    memcpy(node->op, syntax->text + at, n);
    node->op[n] = 0;
}

static enum CXChildVisitResult visit_label(CXCursor cursor, CXCursor parent, CXClientData data)
{
    CXCursor *label = data;

    (void)parent;
    if (clang_getCursorKind(cursor) != CXCursor_LabelRef)
        return CXChildVisit_Continue;
    *label = clang_getCursorReferenced(cursor);
    return CXChildVisit_Break;
}

/* The place of a goto's label; 0: not in the program's text, or computed. */
static uint32_t label_of(struct parse *parse, CXCursor jump)
{
    CXCursor label = clang_getNullCursor();
    uint32_t offset = 0;

    clang_visitChildren(jump, visit_label, &label);
    if (clang_Cursor_isNull(label) || !place(parse, clang_getCursorLocation(label), &offset))
        return 0;
    return offset;
}

static void fill(struct parse *parse, CXCursor cursor, struct syntax_node *node)
{
    CXSourceRange extent = clang_getCursorExtent(cursor);
    enum CXCursorKind kind = clang_getCursorKind(cursor);

    node->kind = kind_of(kind, node->op);
    node->in_text = place(parse, clang_getCursorLocation(cursor), &node->at);
    node->in_text &= place(parse, clang_getRangeStart(extent), &node->begin);
    node->in_text &= place(parse, clang_getRangeEnd(extent), &node->end);
    if (carries_type(node->kind, kind))
        node->type = type_of(clang_getCursorType(cursor));
    switch (node->kind) {
    /* a one-digit literal keeps its digit, which identifies a dimension */
    case NODE_LITERAL:
        if (node->in_text && node->end == node->begin + 1)
            node->op[0] = parse->syntax->text[node->begin];
        break;
    case NODE_JUMP:
        if (node->op[0] == 'g')
            node->at = label_of(parse, cursor);
        break;
    case NODE_FUNCTION:
        if (node->in_text)
            node->symbol = enter_function(parse, cursor, node);
        break;
    case NODE_PARAM:
        node->symbol = enter_param(parse, cursor, node);
        break;
    case NODE_VARIABLE:
        node->symbol = enter(parse, cursor, SYMBOL_VARIABLE);
        node->symbol->type = node->type;
        node->symbol->initial = node;
        break;
    case NODE_NAME:
        node->symbol = use_of(parse, cursor);
        if (node->symbol && node->symbol->kind == SYMBOL_PARAM)
            node->type = node->symbol->type;
        break;
    default:
        break;
    }
}

static enum CXChildVisitResult visit_child(CXCursor cursor, CXCursor parent, CXClientData data)
{
    struct visit *visit = data;
    struct parse *parse = visit->parse;
    struct syntax_node *node;
    struct visit inner;

    (void)parent;
    if (clang_getCursorKind(cursor) == CXCursor_TypeRef)
        /* a name in a cast or a declaration, no part of the expression */
        return CXChildVisit_Continue;
    if (visit->depth > DEEPEST) {
        refuse(&parse->syntax->refusal, "nested too deeply");
        return CXChildVisit_Break;
    }
    if (!visit->parent->parent) { /* the program's own declarations only, not the header's */
        uint32_t offset;

        if (!place(parse, clang_getCursorLocation(cursor), &offset))
            return CXChildVisit_Continue;
    }
    node = text_alloc(1, sizeof *node);
    node->parent = visit->parent;
    *visit->link = node;
    visit->link = &node->next;
    fill(parse, cursor, node);
    inner =
        (struct visit){.parse = parse, .parent = node, .link = &node->children, .depth = visit->depth + 1};
    clang_visitChildren(cursor, visit_child, &inner);
    if (node->kind == NODE_UNARY || node->kind == NODE_BINARY || node->kind == NODE_COMPOUND_ASSIGN)
        read_operator(parse->syntax, node);
    return parse->syntax->refusal.reason[0] ? CXChildVisit_Break : CXChildVisit_Continue;
}

static void check_diagnostics(struct parse *parse)
{
    unsigned n = clang_getNumDiagnostics(parse->unit);

    for (unsigned i = 0; i < n; i++) {
        CXDiagnostic diagnostic = clang_getDiagnostic(parse->unit, i);

        if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error) {
            unsigned line;

            clang_getPresumedLocation(clang_getDiagnosticLocation(diagnostic), NULL, &line, NULL);
            refuse(&parse->syntax->refusal, "does not compile here: line %u: %.120s", line,
                   keep(clang_getDiagnosticSpelling(diagnostic)));
        }
        clang_disposeDiagnostic(diagnostic);
    }
}

void syntax_parse(struct syntax *syntax, const char *text, size_t length, const char *standard,
                  unsigned address_bits, const char *extensions)
{
    static const char name[] = "program.cl";
    struct CXUnsavedFile file = {.Filename = name, .Contents = text, .Length = length};
    char std_option[40] = "-cl-std=CL1.2";
    const char *args[] = {"-x",
                          "cl",
                          "-isystem",
                          CLANG_RESOURCE,
                          std_option,
                          "-target",
                          address_bits == 32 ? "spir" : "spir64",
                          "-w",
                          "-fno-spell-checking",
                          "-Xclang",
                          extensions};
    int n_args = (int)(sizeof args / sizeof args[0]) - (extensions ? 0 : 2);
    struct parse *parse = text_alloc(1, sizeof *parse);
    struct visit visit = {.parse = parse, .link = NULL};
    CXIndex index = clang_createIndex(0, 0);
    enum CXErrorCode error;

    *syntax = (struct syntax){.text = text, .length = length};
    if (standard)
        (void)snprintf(std_option, sizeof std_option, "-cl-std=%s", standard);
    parse->syntax = syntax;
    parse->last = &syntax->functions;
    error = clang_parseTranslationUnit2(index, name, args, n_args, &file, 1, 0, &parse->unit);
    if (error || !parse->unit) {
        refuse(&syntax->refusal, "cannot be parsed (libclang: %d)", (int)error);
        return;
    }
    check_diagnostics(parse);
    parse->file = clang_getFile(parse->unit, name);
    syntax->root = text_alloc(1, sizeof *syntax->root);
    visit.parent = syntax->root;
    visit.link = &syntax->root->children;
    if (!syntax->refusal.reason[0])
        clang_visitChildren(clang_getTranslationUnitCursor(parse->unit), visit_child, &visit);
}
