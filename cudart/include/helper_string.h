/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the same names as in the helper headers of NVIDIA's samples: a program's command line and its files. */
#ifndef COMMON_HELPER_STRING_H_
#define COMMON_HELPER_STRING_H_
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <string>

#define STRCASECMP strcasecmp
#define STRNCASECMP strncasecmp
#define STRCPY(to, length, from) strcpy(to, from)
#define FOPEN(file, name, mode) (file = fopen(name, mode))
#define FOPEN_FAIL(result) (result == NULL)
#define SSCANF sscanf
#define SPRINTF sprintf
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

inline int stringRemoveDelimiter(char delimiter, const char* text) {
  int start = 0;
  while (text[start] == delimiter) ++start;
  return start < (int)strlen(text) - 1 ? start : 0;
}
/* What follows `-name` or `--name` in an argument: "" or "=value"; null if no argument is that. */
inline const char* weir_argument(int argc, const char** argv, const char* name) {
  for (int i = 1; i < argc; ++i) {
    const char* const text = argv[i] + stringRemoveDelimiter('-', argv[i]);
    const size_t length = strlen(name);
    if (text != argv[i] && strncasecmp(text, name, length) == 0 && (text[length] == '\0' || text[length] == '='))
      return text + length;
  }
  return nullptr;
}
inline bool checkCmdLineFlag(int argc, const char** argv, const char* name) {
  return weir_argument(argc, argv, name) != nullptr;
}
inline bool getCmdLineArgumentString(int argc, const char** argv, const char* name, char** value) {
  const char* const found = weir_argument(argc, argv, name);
  *value = found != nullptr && *found == '=' ? (char*)found + 1 : nullptr;
  return *value != nullptr;
}
inline int getCmdLineArgumentInt(int argc, const char** argv, const char* name) {
  char* value;
  return getCmdLineArgumentString(argc, argv, name, &value) ? atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int argc, const char** argv, const char* name) {
  char* value;
  return getCmdLineArgumentString(argc, argv, name, &value) ? (float)atof(value) : 0.0f;
}
/* Looks for a file in the usual folders of the samples. The caller frees the result. */
inline char* sdkFindFilePath(const char* name, const char* program) {
  std::string folder = program != nullptr ? program : "";
  folder.resize(folder.find_last_of('/') == std::string::npos ? 0 : folder.find_last_of('/') + 1);
  for (const std::string& place : {std::string("./"), std::string("./data/"), folder, folder + "data/", folder + "../",
                                   folder + "../data/", folder + "../../Common/data/", std::string("../../Common/data/"),
                                   std::string("../../../Common/data/")}) {
    const std::string path = place + name;
    if (FILE* const file = fopen(path.c_str(), "rb")) {
      fclose(file);
      return strdup(path.c_str());
    }
  }
  return nullptr;
}

#endif
