// Numbers out of samples. No averages: one slow moment of the machine must not move a result.

/** The value below which a share of the samples lies. */
export function quantile(samples, share) {
  const sorted = Float64Array.from(samples).sort();
  if (sorted.length === 0) return undefined;
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.ceil(place);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

export const median = (samples) => quantile(samples, 0.5);

/** Median, least and greatest of the pairwise ratios `above / below`. */
export function ratios(above, below) {
  const all = above.map((value, n) => value / below[n]);
  return { median: median(all), min: Math.min(...all), max: Math.max(...all) };
}
