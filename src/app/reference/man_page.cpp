// SPDX-License-Identifier: Apache-2.0
#include "app/reference/pages.hpp"

#include <cctype>

namespace quern {

namespace {

constexpr const char* kManHead = R"(.\" SPDX-License-Identifier: Apache-2.0
.\" Written by unit.app.reference from the texts of quern --help.
.TH QUERN 1
.SH NAME
quern \- train neural networks, bit-identically for any number of ranks
.SH SYNOPSIS
.B quern
.I COMMAND
.RI [ options ]
.SH DESCRIPTION
Quern trains neural networks from batch jobs, on one rank or many: alone, under
.BR mpirun (1)
or under
.BR srun (1).
A recipe (TOML) says what is trained. With the default
.B train.determinism = \(dqrank\-invariant\(dq
the weights have the same bits for any number of ranks and threads, and so have those of a run
that was stopped and resumed.
.PP
Every command explains itself with
.BR \-\-help .
)";

constexpr const char* kManTail = R"(.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 2
Bad usage, recipe or input; nothing was written.
.TP
.B 85
Stopped early with a good checkpoint: please requeue.
.TP
.B 93
Stopped, do not requeue: training diverged, or data or checkpoint cannot be used.
.TP
.B 1
Anything else, such as a disk or a file server that fails.
.SH SIGNALS
.TP
.BR SIGUSR1 ", " SIGTERM
.B quern train
writes a checkpoint after the step that it is in, and ends with status 85.
.TP
.B SIGINT
(Ctrl\-C), without a launcher: the same, but the program ends by that signal, which a shell shows
as 130. A second one ends it at once, without a checkpoint.
.SH ENVIRONMENT
.TP
.B OMP_NUM_THREADS
Threads of a rank; without it SLURM_CPUS_PER_TASK, else the rank's equal share of its processors.
.TP
.B QUERN_BIND
.B cores
divides the processors among the ranks of a node where the launcher does not;
.B none
leaves them as they are.
.TP
.B QUERN_CPU
.BR x86\-64 ", " avx2 " or " avx512
chooses the kernels of an installation for several processors, without AMX;
.B amx
those for AVX\-512 with it.
.B quern info
says which were taken.
.TP
.B QUERN_SHARE_GPU
.B 1
allows several ranks on one GPU.
.TP
.B QUERN_NCCL_TIMEOUT
Seconds after which ranks that wait for each other's gradients give up.
.TP
.B QUERN_GRAPH
.B 0
launches the kernels of a step one by one instead of a recorded graph.
.TP
.B QUERN_DEVICE_KERNELS
.B 1
runs the kernels for devices on the processor, slowly: for tests.
.SH FILES
A run folder holds
.I recipe.toml
(resolved),
.IR metrics.jsonl ,
.IR events.jsonl ,
.IR checkpoints/ckpt\-<step>.h5 ,
.I DONE
with the model's hash once the last epoch is trained,
.I .lock
against two trainings at once, and
.IR STOP ,
which a user makes to stop cleanly.
.I log/
and
.I job/
are the job toolkit's.
.PP
.B quern info
names the folder
.I share/quern
with recipes, job templates, the scripts of reports and examples of the C++ interface.
.SH EXAMPLES
.nf
quern shard \-\-images train\-images.gz \-\-labels train\-labels.gz \-\-out data/train
mpirun \-n 4 quern train lenet.toml \-\-set train.epochs=20 \-\-run\-dir runs/lenet
quern evaluate runs/lenet \-\-data data/test
.fi
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
  }
  // A point or quote at the beginning of a line would be a request.
  return out.rfind('.', 0) == 0 || out.rfind('\'', 0) == 0 ? "\\&" + out : out;
}

std::string sentence(std::string text) {
  // A value or a key at the beginning ("auto: ...", "train.determinism: ...") keeps its name.
  if (text.substr(0, text.find(' ')).find_first_of(":.") != std::string::npos) return escaped(text);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return escaped(text);
}

std::string text_of(const OptionInfo& option) {
  std::string head = "\\fB" + escaped(option.name) + "\\fR";
  if (option.is_positional) head = "\\fI" + escaped(option.name) + "\\fR";
  if (!option.is_positional && !option.value.empty())
    head += " \\fI" + escaped(option.value) + "\\fR";
  const std::string note = option.is_required && !option.is_positional ? " (required)" : "";
  return ".TP\n" + head + "\n" + sentence(option.meaning) + escaped(note) + "\n";
}

std::string text_of(const CommandInfo& command) {
  std::string text =
      ".SS quern " + escaped(command.path) + "\n" + sentence(command.meaning) + ".\n";
  for (const OptionInfo& option : command.options) text += text_of(option);
  for (const CommandInfo& child : command.children) text += text_of(child);
  return text;
}

}  // namespace

std::string man_page(const CommandInfo& program) {
  std::string text = kManHead;
  text += ".SH OPTIONS\n";
  for (const OptionInfo& option : program.options) text += text_of(option);
  text += ".SH COMMANDS\n";
  for (const CommandInfo& command : program.children) text += text_of(command);
  return text + kManTail;
}

}  // namespace quern
