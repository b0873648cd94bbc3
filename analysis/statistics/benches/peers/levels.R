# Two experiments by levels (Kalibera and Jones 2012): S² and T² of every level, and Fieller's 95 % interval of the ratio of
# the second's mean to the first's.
#
#   Rscript levels.R effect REPEATS
#
# Standard input has an experiment of 20 x 20 x 30 values a line, the lowest level first. Prints milliseconds of processor
# time and of the wall's, each of one repeat, and the upper end.
arguments <- commandArgs(trailingOnly = TRUE)
count <- as.integer(arguments[2])
input <- file("stdin")
samples <- lapply(strsplit(readLines(input), " "), as.numeric)
close(input)

levels_of <- function(x) {
  runs <- array(x, c(20, 20, 30))
  executions <- apply(runs, 2:3, mean)
  binaries <- colMeans(executions)
  biased <- c(mean(apply(runs, 2:3, var)), mean(apply(executions, 2, var)), var(binaries))
  list(
    mean = mean(binaries), S2 = biased, T2 = biased - c(0, biased[1:2] / 20),
    error = biased[3] / 30, df = 29
  )
}

fieller <- function(over, under) {
  h <- qt(0.975, min(over$df, under$df))^2
  a <- under$mean^2 - h * under$error
  b <- over$mean * under$mean
  root <- sqrt(b^2 - a * (over$mean^2 - h * over$error))
  c(b - root, b + root) / a
}

effect <- function() fieller(levels_of(samples[[2]]), levels_of(samples[[1]]))

invisible(effect())
before <- proc.time()
for (i in seq_len(count)) value <- effect()
spent <- (proc.time() - before) * 1e3 / count
cat(sprintf("%.6f %.6f %.15g\n", sum(spent[c("user.self", "sys.self")]), spent["elapsed"], value[2]))
