#%Module
# Speedup, for environment-modules and Lmod. deploy/modules/install fills in the release and the place.
set prefix PREFIX

proc ModulesHelp {} {
    puts stderr "Did a program get faster? `speedup --help` says how to ask, `man speedup` likewise."
}

module-whatis "Speedup VERSION: times programs on many hosts and says with statistics which version is faster"
# One release at a time: coordinator, agents and command are the same.
conflict speedup

prepend-path PATH $prefix/bin
prepend-path MANPATH $prefix/share/man
# An empty part stands for the pages of the system, which a MANPATH without one would hide.
append-path MANPATH ""
# If all users go by one coordinator, say here which:
# setenv SPEEDUP_COORDINATOR https://login1:7077
