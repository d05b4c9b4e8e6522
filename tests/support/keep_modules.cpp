// For sanitizer builds. MPI libraries unload their plug-ins at MPI_Finalize; a leak inside one would then be
// reported from an unknown module, which no suppression can name. So nothing is unloaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void* /*module*/) {
    return 0;
}
