# Mixtures by mclust: what the papers' program does for each sample.
#
#   Rscript mixtures.R fit REPEATS      the best of E and V with 1 to 9 components
#   Rscript mixtures.R ksfit RESAMPLES  the test of fit, its resamples fitted anew
#
# Standard input has a sample a line. Each gives a line: milliseconds of processor time and of the wall's of one fit or test,
# and the BIC or the p-value.
suppressMessages(library(mclust))
arguments <- commandArgs(trailingOnly = TRUE)
count <- as.integer(arguments[2])
input <- file("stdin")
samples <- lapply(strsplit(readLines(input), " "), as.numeric)
close(input)

fit <- function(x) Mclust(x, G = 1:9, modelNames = c("E", "V"), verbose = FALSE)

distance <- function(fitted, x) {
  x <- sort(x)
  n <- length(x)
  law <- fitted$parameters
  sd <- sqrt(rep_len(law$variance$sigmasq, fitted$G))
  weights <- if (is.null(law$pro)) 1 else law$pro
  f <- 0
  for (k in seq_len(fitted$G)) f <- f + weights[k] * pnorm(x, law$mean[k], sd[k])
  max(f - (seq_len(n) - 1) / n, seq_len(n) / n - f)
}

draw <- function(fitted) {
  law <- fitted$parameters
  weights <- if (is.null(law$pro)) 1 else law$pro
  k <- sample.int(fitted$G, fitted$n, replace = TRUE, prob = weights)
  rnorm(fitted$n, law$mean[k], sqrt(rep_len(law$variance$sigmasq, fitted$G))[k])
}

ksfit <- function(x, resamples) {
  fitted <- fit(x)
  found <- distance(fitted, x)
  one <- function(i) {
    y <- draw(fitted)
    distance(fit(y), y)
  }
  mean(vapply(seq_len(resamples), one, 0) > found)
}

set.seed(1)
invisible(fit(samples[[1]]))
for (x in samples) {
  repeats <- if (arguments[1] == "fit") count else 1
  before <- proc.time()
  for (i in seq_len(repeats)) {
    value <- if (arguments[1] == "fit") fit(x)$bic else ksfit(x, count)
  }
  spent <- (proc.time() - before) * 1e3 / repeats
  cat(sprintf("%.6f %.6f %.10f\n", sum(spent[c("user.self", "sys.self")]), spent["elapsed"], value))
}
