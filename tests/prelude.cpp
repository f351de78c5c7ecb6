// Made of precompiled headers (CMakeLists.txt), which tests take.
