/* Makes a supervisor start its worker process under another program. Preloaded into the supervisor (LD_PRELOAD), it prepends the
   words of MYRIAD_WORKER_UNDER, split at blanks, to the command that is spawned as /proc/self/exe.

   valgrind cannot follow the supervisor to its worker, because /proc/self/exe is valgrind itself under valgrind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 64 };
static char under[4096], binary[4096];

__attribute__((constructor)) static void begin(void) {
    const char *words = getenv("MYRIAD_WORKER_UNDER");
    if (words && strlen(words) < sizeof under) strcpy(under, words);
    if (readlink("/proc/self/exe", binary, sizeof binary - 1) < 0) binary[0] = 0;
    unsetenv("LD_PRELOAD");
    unsetenv("MYRIAD_WORKER_UNDER");
}

/* The words, the binary and all arguments but the name; at most MOST_WORDS of them. */
static char **command(char *const given[]) {
    static char *words[MOST_WORDS + 1], text[sizeof under];
    int count = 0;
    strcpy(text, under);
    for (char *word = strtok(text, " "); word && count < MOST_WORDS; word = strtok(NULL, " ")) words[count++] = word;
    if (count < MOST_WORDS) words[count++] = binary;
    for (int at = 1; given[at] && count < MOST_WORDS; at++) words[count++] = given[at];
    words[count] = NULL;
    return words;
}

static int is_meant(const char *path) { return under[0] && binary[0] && !strcmp(path, "/proc/self/exe"); }

int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const arguments[], char *const environment[]) {
    typeof(posix_spawnp) *next = (typeof(posix_spawnp) *)dlsym(RTLD_NEXT, "posix_spawnp");
    if (!is_meant(path)) return next(pid, path, actions, attributes, arguments, environment);
    char **words = command(arguments);
    return next(pid, words[0], actions, attributes, words, environment);
}

int execvp(const char *path, char *const arguments[]) {
    typeof(execvp) *next = (typeof(execvp) *)dlsym(RTLD_NEXT, "execvp");
    if (!is_meant(path)) return next(path, arguments);
    char **words = command(arguments);
    return next(words[0], words);
}
