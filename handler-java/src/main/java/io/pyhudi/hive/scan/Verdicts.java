package io.pyhudi.hive.scan;

import io.pyhudi.hive.client.Outcome;
import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.PartitionVerdict;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.VerdictKind;
import io.pyhudi.hive.table.LinesDigest;
import io.pyhudi.hive.table.Slice;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The verdicts of a response, applied to the files that the caller listed.
 *
 * <p>A slice is dropped only when each of its files is proved to hold no matching row. A verdict
 * about another listing, or without a field that its kind needs, proves nothing.
 */
public final class Verdicts {
  private static final Verdicts NONE = new Verdicts(Collections.emptyMap());

  private final Map<String, PartitionVerdict> byPartition;

  private Verdicts(Map<String, PartitionVerdict> byPartition) {
    this.byPartition = byPartition;
  }

  /** Returns verdicts that keep every file. */
  public static Verdicts none() {
    return NONE;
  }

  /**
   * @throws PruningException if the response contradicts itself
   */
  public static Verdicts of(PruneResponse response) throws PruningException {
    Map<String, PartitionVerdict> byPartition = new HashMap<>();
    if (response.getVerdicts() != null) {
      for (PartitionVerdict verdict : response.getVerdicts()) {
        if (byPartition.put(verdict.getPartitionPath(), verdict) != null) {
          throw new PruningException(
              Outcome.WRONG_ANSWER, "two verdicts for partition " + verdict.getPartitionPath());
        }
      }
    }
    return new Verdicts(byPartition);
  }

  /**
   * Returns whether the partition needs no listing: none of its files can match, whatever they are.
   */
  public boolean dropsPartition(String partitionPath) {
    PartitionVerdict verdict = byPartition.get(partitionPath);
    return verdict != null && verdict.getKind() == VerdictKind.DROP_PARTITION;
  }

  /**
   * Returns the slices of one partition that must be read.
   *
   * @param listed all slices of the partition in the requested view
   * @param tokens names the files of a slice as the protocol does
   */
  public <S> List<S> keep(
      String partitionPath, List<S> listed, Function<S, ? extends Collection<String>> tokens) {
    PartitionVerdict verdict = byPartition.get(partitionPath);
    if (verdict == null || verdict.getKind() == null) {
      return listed;
    }
    switch (verdict.getKind()) {
      case DROP_PARTITION:
        return Collections.emptyList();
      case DROP_LISTED:
        return wasListed(verdict, listed, tokens) ? Collections.emptyList() : listed;
      case DROP_TOKENS:
        Set<String> dropped = tokensOf(verdict);
        return keepIf(listed, tokens, files -> !dropped.containsAll(files));
      case KEEP_TOKENS:
        Set<String> kept = tokensOf(verdict);
        return wasListed(verdict, listed, tokens) && verdict.isSetTokens()
            ? keepIf(listed, tokens, files -> !Collections.disjoint(kept, files))
            : listed;
      default:
        return listed;
    }
  }

  /** Returns whether there is a verdict about the partition's files, which depends on a listing. */
  public boolean isAboutFiles(String partitionPath) {
    return byPartition.containsKey(partitionPath) && !dropsPartition(partitionPath);
  }

  /**
   * Returns the tokens of each slice of one partition that no matching row is in.
   *
   * @param listed all slices of the partition in the requested view
   */
  public Set<Set<String>> excluded(String partitionPath, List<Slice> listed) {
    Set<Set<String>> excluded = tokensOf(listed);
    excluded.removeAll(tokensOf(keep(partitionPath, listed, Slice::tokens)));
    return excluded;
  }

  private static Set<Set<String>> tokensOf(List<Slice> slices) {
    return slices.stream().map(Slice::tokenSet).collect(Collectors.toSet());
  }

  private static <S> List<S> keepIf(
      List<S> listed,
      Function<S, ? extends Collection<String>> tokens,
      Predicate<Collection<String>> condition) {
    List<S> kept = new ArrayList<>();
    for (S slice : listed) {
      Collection<String> files = tokens.apply(slice);
      if (files.isEmpty() || condition.test(files)) {
        kept.add(slice);
      }
    }
    return kept;
  }

  private static Set<String> tokensOf(PartitionVerdict verdict) {
    return verdict.isSetTokens()
        ? new HashSet<>(verdict.getTokens())
        : Collections.<String>emptySet();
  }

  private static <S> boolean wasListed(
      PartitionVerdict verdict, List<S> listed, Function<S, ? extends Collection<String>> tokens) {
    if (!verdict.isSetDigest()) {
      return false;
    }
    List<String> files = new ArrayList<>();
    for (S slice : listed) {
      files.addAll(tokens.apply(slice));
    }
    return MessageDigest.isEqual(verdict.getDigest(), LinesDigest.of(files));
  }
}
