// Compiled with the precompiled header that the emulated sources share (CMakeLists.txt).
