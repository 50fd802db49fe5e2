/*
 * usage.c: what --help prints.
 */
#include "usage.h"

#include <stdio.h>

static const char overview[] =
    "attnzoo computes attention with the mechanisms of libattnzoo.\n"
    "\n"
    "  attnzoo list                 the mechanisms, one a line\n"
    "  attnzoo describe MECHANISM   its formula, options, parameters, inputs, outputs and state\n"
    "  attnzoo run MECHANISM ...    compute; see below\n"
    "  attnzoo --version            the version, and what the library was built with and runs on\n"
    "  attnzoo --help               this text; so do -h and help\n"
    "\n"
    "An input F is a NumPy file (.npy: float32, float16, bool, int32, int64) or one tensor of a safetensors file,\n"
    "written FILE.safetensors:NAME (F32, F16, BF16, BOOL, I32, I64). Outputs are .npy files of float32, a\n"
    "state is a .safetensors file of float32; each appears whole at the end, or the older file stays as it was; none\n"
    "may be a file that is read. Options are written --name VALUE or --name=VALUE, by their full names.\n";

static const char inputs[] =
    "\n"
    "attnzoo run MECHANISM\n"
    "\n"
    "What goes in\n"
    "  --query F, --key F, --value F   what is looked for, what it is found by, and what is found\n"
    "  --position F                    the position table, where the mechanism has one\n"
    "  --past-key F, --past-value F    put in front of key and value, for mechanisms whose keys are [B, G, M, D]\n"
    "  --weights W.safetensors         the mechanism's parameters by their names\n"
    "  --prefix STR                    what stands before each parameter's name in W; only tensors whose names\n"
    "                                  begin so are looked at, and each must be a parameter (default: none)\n"
    "  --rename RULE                   what names in W mean, behind the prefix; as often as needed, RULE being one of\n"
    "      OLD=NEW                     the tensor OLD is the parameter NEW\n"
    "      OLD=                        the tensor OLD is left out\n"
    "      'OLD.*=NEW.*'               the same for all names that fit; * stands for any text\n"
    "      'OLD[A:B]=NEW'              rows A to B - 1 of OLD, as of query, key and value in one tensor\n"
    "      'OLD[I/N]=NEW'              part I (from 1) of N equal parts of OLD's rows\n"
    "      pytorch                     the names of torch.nn.MultiheadAttention (in_proj_weight, ...)\n"
    "      huggingface                 names in the transformers library (q_proj, query, q_lin, ..., o_proj, ...)\n"
    "  --set NAME=VALUE                an option of the mechanism; once for each\n"
    "  --state-in F.safetensors        the state to go on from, where the mechanism carries one: a cache of keys and\n"
    "                                  values, or the alignment; 'attnzoo describe MECHANISM' lists the tensors\n";

static const char masks[] =
    "\n"
    "What a query may see: a key must pass everything that is given here\n"
    "  --causal                keys up to the query's own position\n"
    "  --window L,R            keys from L before to R after the query's position; -1 is no limit\n"
    "  --key-lengths F         [B]: only the first keys of each batch\n"
    "  --query-lengths F       [B]: only the first queries of each batch see anything\n"
    "  --mask F                true = may be seen; broadcasts to [B, H, N, M]\n"
    "  --segments F            [B, M]: keys with the query's own segment id\n"
    "What is added to the scores\n"
    "  --bias F                broadcasts to [B, H, N, M]; -infinity hides\n"
    "  --alibi F               [H]: minus this slope times the distance between query and key\n"
    "Where query i stands: at offset + i, key j at j\n"
    "  --align bottom-right    offset M - N: the last query stands at the last key (default)\n"
    "  --align top-left        offset 0: the first query stands at the first key\n"
    "  --align lengths         offset key length - query length, batch by batch\n"
    "  --query-offset N|F      the offset itself: one number, or a file with one, or with one a batch [B]\n";

static const char outputs[] =
    "\n"
    "What comes out\n"
    "  --context F             the result; required\n"
    "  --attention F           the weight of each key for each query\n"
    "  --heatmap F.png         a picture of the attention, a panel a head\n"
    "  --state-out F.safetensors   the state after the call, where the mechanism carries one; may be the same file as\n"
    "                              --state-in\n"
    "\n"
    "How\n"
    "  --threads N             threads that work, 0 (the default) for as many as the process may use\n"
    "  --time                  call again for about a second, and print the wall time of a call to standard output;\n"
    "                          each call starts from the state that the first one started from\n"
    "\n"
    "Exit status: 0 success, 2 the command line is wrong, 1 anything else went wrong; then one line on standard\n"
    "error says what and where.\n"
    "\n"
    "Example: attnzoo run scaled_dot_product --query q.npy --key k.npy --value v.npy --causal \\\n"
    "             --context context.npy --heatmap attention.png\n";

void print_usage(void)
{
    fputs(overview, stdout);
    fputs(inputs, stdout);
    fputs(masks, stdout);
    fputs(outputs, stdout);
}
