package io.pyhudi.hive.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pyhudi.hive.client.PruningException;
import io.pyhudi.hive.protocol.PartitionVerdict;
import io.pyhudi.hive.protocol.PruneResponse;
import io.pyhudi.hive.protocol.PruneStatus;
import io.pyhudi.hive.protocol.VerdictKind;
import io.pyhudi.hive.table.LinesDigest;
import io.pyhudi.hive.table.Slice;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hudi.common.model.FileSlice;
import org.apache.hudi.common.model.HoodieBaseFile;
import org.apache.hudi.common.model.HoodieLogFile;
import org.apache.hudi.storage.StoragePath;
import org.apache.hudi.storage.StoragePathInfo;
import org.junit.jupiter.api.Test;

class VerdictsTest {
  private static final String P = "p=1";
  private static final String A = "aaaaaaaa-0_0-1-1_001.parquet";
  private static final String B = "bbbbbbbb-0_0-1-1_001.parquet";
  private static final String LOG = ".bbbbbbbb-0_002.log.1_0-2-2";

  private final Slice plain = slice(A);
  private final Slice merged = slice(B, LOG);
  private final List<Slice> listed = Arrays.asList(plain, merged);

  private static Slice slice(String base, String... logs) {
    FileSlice slice = new FileSlice(P, "001", base.substring(0, 10));
    slice.setBaseFile(new HoodieBaseFile(info(base, 100)));
    for (String log : logs) {
      slice.addLogFile(new HoodieLogFile(info(log, 7)));
    }
    return Slice.snapshot(slice);
  }

  private static StoragePathInfo info(String name, long length) {
    return new StoragePathInfo(
        new StoragePath("/table/" + P + "/" + name), length, false, (short) 1, 0, 0);
  }

  private static byte[] digestOf(List<Slice> slices) {
    List<String> tokens = new ArrayList<>();
    slices.forEach(slice -> tokens.addAll(slice.tokens()));
    return LinesDigest.of(tokens);
  }

  private static Verdicts verdicts(PartitionVerdict... verdicts) throws PruningException {
    PruneResponse response = new PruneResponse(1, "q", "/table", PruneStatus.OK);
    return Verdicts.of(response.setVerdicts(Arrays.asList(verdicts)));
  }

  private static PartitionVerdict verdict(VerdictKind kind, String... tokens) {
    return new PartitionVerdict(P, kind).setTokens(Arrays.asList(tokens));
  }

  @Test
  void aTokenIsABaseFilesNameOrALogFilesNameWithItsLength() {
    assertEquals(Arrays.asList(B, LOG + "@7"), merged.tokens());
    assertEquals(107, merged.bytes());
  }

  @Test
  void theReadOptimizedViewHasBaseFilesOnly() {
    assertEquals(Collections.singletonList(B), Slice.readOptimized(merged.fileSlice()).tokens());
    assertTrue(Slice.readOptimized(merged.fileSlice()).isPlainParquet());
  }

  @Test
  void aPartitionWithoutAVerdictIsKept() throws Exception {
    assertEquals(listed, verdicts().keep(P, listed, Slice::tokens));
    assertEquals(
        listed,
        verdicts(new PartitionVerdict("p=2", VerdictKind.DROP_PARTITION))
            .keep(P, listed, Slice::tokens));
  }

  @Test
  void aDroppedPartitionNeedsNoListing() throws Exception {
    Verdicts verdicts = verdicts(new PartitionVerdict(P, VerdictKind.DROP_PARTITION));
    assertTrue(verdicts.dropsPartition(P));
    assertEquals(Collections.emptyList(), verdicts.keep(P, listed, Slice::tokens));
  }

  @Test
  void droppedTokensDropASliceOnlyWhenAllOfItsFilesAreProved() throws Exception {
    assertEquals(
        Collections.singletonList(merged),
        verdicts(verdict(VerdictKind.DROP_TOKENS, A, B)).keep(P, listed, Slice::tokens));
    assertEquals(
        Collections.singletonList(plain),
        verdicts(verdict(VerdictKind.DROP_TOKENS, B, LOG + "@7")).keep(P, listed, Slice::tokens));
    // The log file has grown since the verdict.
    assertEquals(
        listed,
        verdicts(verdict(VerdictKind.DROP_TOKENS, B, LOG + "@6")).keep(P, listed, Slice::tokens));
  }

  @Test
  void keptTokensDropTheOthersOfTheEvaluatedListing() throws Exception {
    PartitionVerdict keepLog =
        verdict(VerdictKind.KEEP_TOKENS, LOG + "@7").setDigest(digestOf(listed));
    assertEquals(
        Collections.singletonList(merged), verdicts(keepLog).keep(P, listed, Slice::tokens));
  }

  @Test
  void excludedSlicesAreKnownByAllOfTheirFiles() throws Exception {
    Verdicts verdicts = verdicts(verdict(VerdictKind.DROP_TOKENS, A, B, LOG + "@7"));
    assertTrue(verdicts.isAboutFiles(P));
    assertEquals(
        new HashSet<>(Arrays.asList(plain.tokenSet(), merged.tokenSet())),
        verdicts.excluded(P, listed));
    assertFalse(verdicts.excluded(P, listed).contains(slice(B).tokenSet()));
    assertEquals(Collections.emptySet(), verdicts().excluded(P, listed));
    assertFalse(verdicts().isAboutFiles(P));
    assertFalse(verdicts(new PartitionVerdict(P, VerdictKind.DROP_PARTITION)).isAboutFiles(P));
  }

  @Test
  void aVerdictOnAnotherListingProvesNothing() throws Exception {
    byte[] other = digestOf(Collections.singletonList(plain));
    for (VerdictKind kind : Arrays.asList(VerdictKind.KEEP_TOKENS, VerdictKind.DROP_LISTED)) {
      assertEquals(listed, verdicts(verdict(kind).setDigest(other)).keep(P, listed, Slice::tokens));
      assertEquals(listed, verdicts(verdict(kind)).keep(P, listed, Slice::tokens));
    }
  }

  @Test
  void keptTokensThatAreMissingProveNothing() throws Exception {
    PartitionVerdict without =
        new PartitionVerdict(P, VerdictKind.KEEP_TOKENS).setDigest(digestOf(listed));
    assertEquals(listed, verdicts(without).keep(P, listed, Slice::tokens));
  }

  @Test
  void aListedPartitionIsDroppedWithTheRightDigest() throws Exception {
    PartitionVerdict all =
        new PartitionVerdict(P, VerdictKind.DROP_LISTED).setDigest(digestOf(listed));
    assertEquals(Collections.emptyList(), verdicts(all).keep(P, listed, Slice::tokens));
  }

  @Test
  void twoVerdictsForAPartitionAreNoAnswer() {
    PartitionVerdict drop = new PartitionVerdict(P, VerdictKind.DROP_PARTITION);
    assertThrows(PruningException.class, () -> verdicts(drop, drop));
  }

  @Test
  void theDigestSortsUnsignedUtf8() {
    // sha256("a\n" "a1\n" "é\n" "😀\n"), as any implementation computes it.
    List<String> tokens = Arrays.asList("😀", "é", "a1", "a");
    String hex = String.format("%064x", new BigInteger(1, LinesDigest.of(tokens)));
    assertEquals("bfeaae90bb83fe75e2c3879701fe8ed981e154c1f9b67fbd1a986549467c780a", hex);
    assertEquals(
        hex,
        String.format(
            "%064x",
            new BigInteger(
                1, LinesDigest.of(tokens.stream().sorted().collect(Collectors.toList())))));
  }
}
